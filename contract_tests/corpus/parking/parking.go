// Parking charges drivers by saved phone or card: every stay once, on the way out.
//
//	parking serve PORT    serve its webhooks
//	parking story         play ten days
//	parking report        print its book
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Stay is a car's stay. Its receipts and what was paid back are counted.
type Stay struct {
	Plate    string `json:"plate"`
	Amount   int    `json:"amount"`
	Intent   string `json:"intent"`
	Status   string `json:"status"`
	Receipts int    `json:"receipts"`
	PaidBack int    `json:"paid_back"`
	Refund   string `json:"refund"`
}

// Book is everything that the garage knows.
type Book struct {
	Drivers map[string][2]string `json:"drivers"` // customer and payment method by plate
	Stays   map[string]*Stay     `json:"stays"`
	Takings map[string]int       `json:"takings"` // by day
	Handled map[string]bool      `json:"handled"`
}

// Garage is the book with its lock, and the secret of its webhook endpoint.
type Garage struct {
	sync.Mutex
	Book
	secret string
}

func bookFile() string { return filepath.Join(os.Getenv("PAYMENTS_EMULATOR_FOLDER"), "book.json") }

func open() *Garage {
	garage := &Garage{secret: os.Getenv("WEBHOOK_SECRET")}
	garage.Book = Book{map[string][2]string{}, map[string]*Stay{}, map[string]int{},
		map[string]bool{}}
	if text, err := os.ReadFile(bookFile()); err == nil {
		_ = json.Unmarshal(text, &garage.Book)
	}
	return garage
}

// change changes the book, one goroutine at a time, and writes it.
func (g *Garage) change(change func()) {
	g.Lock()
	defer g.Unlock()
	change()
	text, _ := json.Marshal(g.Book)
	_ = os.WriteFile(bookFile()+".new", text, 0o600)
	_ = os.Rename(bookFile()+".new", bookFile())
}

// register saves a driver with the phone that pays.
func (g *Garage) register(plate, phone string) error {
	person := Object{"email": plate + "@example.com", "name": plate}
	customer, err := call("POST", "/v1/customers/", person, "driver-"+plate)
	if err != nil {
		return err
	}
	wallet := Object{"customer": customer["id"], "type": "mobile_money", "phone": phone}
	method, err := call("POST", "/v1/payment-methods/", wallet, "wallet-"+plate)
	if err != nil {
		return err
	}
	g.change(func() { g.Drivers[plate] = [2]string{customer.Text("id"), method.Text("id")} })
	return nil
}

// leave charges a stay once, however often the barrier asks.
func (g *Garage) leave(stay, plate string, amount int) error {
	order := Object{"amount": amount, "currency": "XAF", "customer": g.Drivers[plate][0],
		"payment_method": g.Drivers[plate][1], "metadata": Object{"stay": stay}}
	intent, err := call("POST", "/v1/payment-intents/", order, "stay-"+stay)
	if err != nil {
		return err
	}
	id := intent.Text("id")
	g.change(func() {
		g.Stays[stay] = &Stay{Plate: plate, Amount: amount, Intent: id, Status: "leaving"}
	})
	paid, err := call("POST", "/v1/payment-intents/"+id+"/confirm/", Object{}, "confirm-"+stay)
	status := paid.Text("status")
	isWaiting := status == "processing" || status == "requires_action"
	if err != nil && bug("error_is_unpaid") || isWaiting && bug("charges_again") {
		return g.leave(stay+"-again", plate, amount)
	}
	if isWaiting && bug("processing_is_paid") {
		paid["status"] = "succeeded"
		g.change(func() { g.settle(paid) })
	}
	return err
}

// settle books the outcome of a payment; a receipt is sent for one that succeeded.
func (g *Garage) settle(intent Object) {
	repeats := bug("no_dedupe") || bug("dedupe_by_event") || bug("check_then_insert")
	for _, stay := range g.Stays {
		if stay.Intent != intent.Text("id") || stay.Status == "paid" && !repeats {
			continue
		}
		switch intent.Text("status") {
		case "succeeded":
			stay.Status = "paid"
			stay.Receipts++
		case "canceled":
			stay.Status = "unpaid"
		}
	}
}

// payBack pays a part of a stay back, once.
func (g *Garage) payBack(stay string, amount int) error {
	intent, err := call("GET", "/v1/payment-intents/"+g.Stays[stay].Intent+"/", nil, "")
	if err != nil {
		return err
	}
	key := "refund-" + stay
	order := Object{"transaction": intent["transaction"], "amount": amount}
	refund, err := call("POST", "/v1/refunds/", order, key)
	if err != nil {
		return err
	}
	g.change(func() {
		g.Stays[stay].Refund = refund.Text("id")
		if bug("refund_counted_twice") {
			g.Stays[stay].PaidBack += amount
		}
	})
	return nil
}

func (g *Garage) paidBack(refund Object) {
	for _, stay := range g.Stays {
		if stay.Refund != refund.Text("id") || refund.Text("status") != "succeeded" {
			continue
		}
		if stay.PaidBack == 0 || bug("refund_adds") || bug("refund_counted_twice") {
			stay.PaidBack += refund.Number("amount")
		}
	}
}

// night asks for everything that no webhook has said, and totals the day's takings.
func (g *Garage) night(now time.Time) error {
	if !bug("no_reconcile") {
		for name, stay := range g.Stays {
			if stay.Status != "leaving" && (stay.Refund == "" || stay.PaidBack > 0) {
				continue
			}
			intent, err := call("GET", "/v1/payment-intents/"+stay.Intent+"/", nil, "")
			if err != nil {
				return err
			}
			g.change(func() { g.settle(intent) })
			if refund := g.Stays[name].Refund; refund != "" {
				state, err := call("GET", "/v1/refunds/"+refund+"/", nil, "")
				if err != nil {
					return err
				}
				g.change(func() { g.paidBack(state) })
			}
		}
	}
	return g.total(now)
}

// total adds up the takings of the day before, from midnight to midnight in UTC.
func (g *Garage) total(now time.Time) error {
	end := now.UTC().Truncate(24 * time.Hour)
	start, last := end.Add(-24*time.Hour), end.Add(-time.Millisecond)
	if bug("both_bounds") {
		last = end
	}
	if bug("day_of_the_machine") {
		_, offset := now.Local().Zone()
		start = start.Add(-time.Duration(offset) * time.Second)
		last = last.Add(-time.Duration(offset) * time.Second)
	}
	const format = "2006-01-02T15:04:05.000Z"
	path := fmt.Sprintf("/v1/transactions/?type=deposit&page_size=10&ordering=created_at"+
		"&created_after=%s&created_before=%s", start.Format(format), last.Format(format))
	transactions, err := every(path)
	if err != nil {
		return err
	}
	sum := 0
	for _, transaction := range transactions {
		sum += transaction.Number("amount")
	}
	g.change(func() { g.Takings[start.Add(12*time.Hour).Format("2006-01-02")] = sum })
	return nil
}

// hear handles an event, which may come twice, late, or before the response that it is about.
func (g *Garage) hear(event Object) {
	data, _ := event["data"].(map[string]any)
	object, _ := data["object"].(map[string]any)
	id, isKnown := event.Text("id"), false
	if bug("check_then_insert") || bug("dedupe_by_event") {
		g.change(func() { isKnown = g.Handled[id] })
	}
	if bug("check_then_insert") {
		time.Sleep(50 * time.Millisecond)
	}
	if isKnown {
		return
	}
	g.change(func() {
		g.Handled[id] = true
		if strings.HasPrefix(event.Text("type"), "refund.") {
			g.paidBack(object)
		} else {
			g.settle(object)
		}
	})
}

func (g *Garage) isGenuine(signature string, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(g.secret))
	mac.Write(body)
	expected := hex.EncodeToString(mac.Sum(nil))
	switch {
	case bug("missing_header_ok") && signature == "":
		return true
	case bug("shortened_signature"):
		return signature != "" && strings.HasPrefix(expected, signature)
	case bug("lengthened_signature"):
		return strings.HasPrefix(signature, expected)
	}
	return hmac.Equal([]byte(signature), []byte(expected))
}

// ServeHTTP receives webhooks.
func (g *Garage) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	event := Object{}
	_ = json.Unmarshal(body, &event)
	if event.Text("type") == "webhook.ping" {
		return
	}
	if !g.isGenuine(request.Header.Get("Service-Signature"), body) {
		response.WriteHeader(http.StatusUnauthorized)
		return
	}
	g.hear(event)
}
