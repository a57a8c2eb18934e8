package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	pays           = "+24177000000"
	tooLittleMoney = "+24177000001"
)

// The sandbox waits for webhooks before it answers, so it has time.
var patient = &http.Client{Timeout: 2 * time.Minute}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func control(method, path string, body any) Object {
	status, _, object := send(patient, method, path, body, "")
	if status >= 300 || object == nil {
		panic(fmt.Sprintf("%s %s: %d %v", method, path, status, object))
	}
	return object
}

// advance moves the clock; the time that is then.
func advance(by string) time.Time {
	text := control("POST", "/_emulator/clock/advance", Object{"by": by}).Text("now")
	now, err := time.Parse(time.RFC3339, text)
	must(err)
	return now
}

// midnight waits for the next midnight, whatever time it is, and some minutes more.
func midnight() time.Time {
	now := advance("0s")
	next := now.Truncate(24 * time.Hour).Add(24*time.Hour + 5*time.Minute)
	return advance(fmt.Sprintf("%ds", int(next.Sub(now).Seconds())))
}

// story plays ten days at the garage: three drivers, one of whom has no money.
func story() {
	garage := open()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go func() { _ = http.Serve(listener, garage) }()
	hook := Object{"name": "Parking", "url": "http://" + listener.Addr().String() + "/webhooks",
		"events": []string{"payment_intent.succeeded", "payment_intent.failed",
			"refund.succeeded", "refund.failed"}}
	garage.secret = control("POST", "/v1/webhooks/", hook).Text("secret")

	must(garage.register("GA-101", pays))
	must(garage.register("GA-102", pays))
	must(garage.register("GA-103", tooLittleMoney))
	must(garage.leave("monday-101", "GA-101", 1500))
	must(garage.leave("monday-102", "GA-102", 2500))
	must(garage.leave("monday-103", "GA-103", 1000))
	must(garage.night(midnight()))
	must(garage.leave("tuesday-101", "GA-101", 3000))
	advance("2h")
	if garage.Stays["monday-102"].Status == "paid" {
		must(garage.payBack("monday-102", 500))
	}
	must(garage.night(midnight()))
	must(garage.night(advance("8d")))
}

func report(book Book) {
	stays := map[string]Stay{}
	for name, stay := range book.Stays {
		shown := *stay
		shown.Intent, shown.Refund = "", ""
		stays[name] = shown
	}
	text, _ := json.Marshal(Object{"stays": stays, "takings": book.Takings})
	fmt.Println(string(text))
}

func main() {
	switch command := os.Args[1]; command {
	case "serve":
		must(http.ListenAndServe("127.0.0.1:"+os.Args[2], open()))
	case "story":
		story()
	case "report":
		report(open().Book)
	}
}
