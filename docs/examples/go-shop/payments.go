package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

type fields map[string]any

// Of each answer of the service, what the shop reads.
type object struct {
	ID, URL, Secret, Status, Customer, Transaction string
	CheckoutSession                                string `json:"checkout_session"`
	PaymentIntent                                  string `json:"payment_intent"`
	AmountTotal                                    int    `json:"amount_total"`
	Data                                           []object
}

type event struct {
	ID, Type string
	At       string `json:"created_at"`
	Data     struct{ Object object }
}

func read(body []byte) (found event, err error) {
	err = json.Unmarshal(body, &found)
	return found, err
}

// Whether a webhook is the service's: the signature is over the raw body.
func signed(body []byte, signature, secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	given, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(given, mac.Sum(nil))
}

// An error that the service answered.
type apiError struct {
	Method, Path string
	Status       int
}

func (err apiError) Error() string { return fmt.Sprintf("%s %s: %d", err.Method, err.Path, err.Status) }

// The answer to a request, which is sent again, as the same one, if it is not known whether it was done.
func (shop *Shop) call(method, path string, body fields, key string) (object, error) {
	for attempt := 0; ; attempt++ {
		found, wait, err := shop.send(method, path, body, key)
		if err == nil || wait < 0 || attempt == len(shop.Pauses) {
			return found, err
		}
		if wait == 0 {
			wait = shop.Pauses[attempt]
		}
		time.Sleep(wait)
	}
}

// The answer; or how long to wait before the next attempt: 0 where the service does not say, -1 where none will help.
func (shop *Shop) send(method, path string, body fields, key string) (found object, wait time.Duration, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return found, -1, err
	}
	if body == nil {
		data = nil
	}
	request, err := http.NewRequest(method, shop.URL+path, bytes.NewReader(data))
	if err != nil {
		return found, -1, err
	}
	request.Header.Set("Authorization", "Bearer "+shop.Key)
	request.Header.Set("Content-Type", "application/json")
	if method != http.MethodGet {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := shop.client.Do(request)
	if err != nil {
		return found, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode < 300 {
		return found, 0, json.NewDecoder(response.Body).Decode(&found)
	}
	if response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests {
		wait = -1
	} else if seconds, invalid := strconv.Atoi(response.Header.Get("Retry-After")); invalid == nil {
		wait = time.Duration(seconds) * time.Second
	}
	return found, wait, apiError{method, path, response.StatusCode}
}

// An Idempotency-Key for a request that is made once.
func newKey() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}

func main() {
	shop := NewShop(os.Getenv("PAYMENTS_URL"), os.Getenv("PAYMENTS_KEY"), os.Getenv("PAYMENTS_WEBHOOK_SECRET"))
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("http://%s", listener.Addr())
	log.Fatal(http.Serve(listener, shop))
}
