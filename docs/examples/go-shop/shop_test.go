package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"testing"
	"time"
)

const (
	pays           = "+24177000000"
	tooLittleMoney = "+24177000001"
)

var events = []string{
	"checkout.session.completed", "payment_intent.failed", "invoice.paid", "subscription.payment_failed", "subscription.canceled",
}

// A shop that is served, and the world that its payments service has for it.
type world struct {
	*testing.T
	*Shop
}

func openShop(t *testing.T, key string) world {
	shop := NewShop(os.Getenv("PAYMENTS_EMULATOR_URL"), key, "")
	shop.client.Timeout = 30 * time.Second // a year that passes takes its time
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	w := world{t, shop}
	w.do("POST", "/_emulator/clock/freeze", fields{})
	endpoint := w.do("POST", "/v1/webhooks/", fields{"name": "Shop", "url": server.URL + "/webhooks", "events": events})
	shop.Secret = endpoint.Secret
	return w
}

// Each test has a key no one used before, which opens a world with a clock.
func newShop(t *testing.T) world {
	w := openShop(t, "sk_test_"+newKey())
	w.Pauses = []time.Duration{10 * time.Millisecond}
	return w
}

func (w world) do(method, path string, body fields) object {
	w.Helper()
	return w.must(w.call(method, path, body, newKey()))
}

func (w world) must(found object, err error) object {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	return found
}

func (w world) equal(got, want any, what string) {
	w.Helper()
	if got != want {
		w.Fatalf("%s: %v instead of %v", what, got, want)
	}
}

// Answers when everything that fell due is done, the webhooks' answers included.
func (w world) advance(by string) { w.do("POST", "/_emulator/clock/advance", fields{"by": by}) }

func (w world) fault(then, match fields) {
	w.do("POST", "/_emulator/faults", fields{"then": then, "match": match})
}

// What a browser sends; what the shop answers.
func (w world) browse(method, path string, form fields) (status int, body struct{ Pay_at, Member, Status string }) {
	data, _ := json.Marshal(form)
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, httptest.NewRequest(method, path, bytes.NewReader(data)))
	_ = json.Unmarshal(recorder.Body.Bytes(), &body)
	return recorder.Code, body
}

// The checkout session of a new order; the price that a browser sends counts for nothing.
func (w world) order(baskets int) string {
	_, answer := w.browse("POST", "/orders", fields{"email": "awa@example.com", "baskets": baskets, "price": 100})
	return path.Base(answer.Pay_at)
}

func (w world) pay(session, phone string) {
	w.do("POST", "/_emulator/checkout-sessions/"+session+"/pay", fields{"method": fields{"type": "mobile_money", "phone": phone}})
	w.advance("1s")
}

func (w world) join(email, phone string) string {
	_, answer := w.browse("POST", "/members", fields{"email": email, "phone": phone})
	w.advance("1s")
	return answer.Member
}

func (w world) status(session string) string {
	_, answer := w.browse("GET", "/thanks/"+session, nil)
	return answer.Status
}

func TestAnOrderIsShippedOnceWhenItIsPaid(t *testing.T) {
	w := newShop(t)
	w.fault(fields{"duplicate": 2}, fields{"event": "checkout.session.completed"})
	session := w.order(3)
	w.equal(w.status(session), "open", "status before the payment")
	w.pay(session, tooLittleMoney)
	w.equal(w.orders[session].Status, "declined", "status after a declined payment")
	w.pay(session, pays)
	w.equal(w.orders[session].Shipped, 3, "baskets")
	w.equal(w.status(session), "paid", "status")
}

func TestARefundIsPaidOnce(t *testing.T) {
	w := newShop(t)
	session := w.order(1)
	w.pay(session, pays)
	first, second := w.must(w.Refund(session, 500)), w.must(w.Refund(session, 500))
	w.equal(first.ID, second.ID, "refund")
	w.advance("1d")
	w.equal(w.do("GET", "/v1/refunds/"+first.ID+"/", nil).Status, "succeeded", "status")
}

func TestAMemberPaysEveryMonth(t *testing.T) {
	w := newShop(t)
	member := w.members[w.join("awa@example.com", pays)]
	w.advance("P1Y")
	w.equal(len(member.paid), 13, "months")
	w.equal(member.Status, "active", "status")
}

func TestARenewalThatFailsRecovers(t *testing.T) {
	w := newShop(t)
	customer := w.join("awa@example.com", tooLittleMoney)
	w.equal(w.members[customer].Status, "overdue", "status")
	w.do("PATCH", "/v1/customers/"+customer+"/", fields{"phone": pays})
	w.advance("1d")
	w.equal(w.members[customer].Status, "active", "status after the retry")
}

func TestAForgedWebhookChangesNothing(t *testing.T) {
	w := newShop(t)
	w.fault(fields{"tamper": true}, fields{"event": "checkout.session.completed"})
	session := w.order(1)
	w.pay(session, pays)
	w.equal(w.orders[session].Shipped, 0, "baskets")
}

func TestALostAnswerIsAskedForAgain(t *testing.T) {
	w := newShop(t)
	w.fault(fields{"drop": "after"}, fields{"path": "/checkout-sessions/"})
	session := w.order(1)
	sessions := w.do("GET", "/v1/checkout-sessions/", nil).Data
	w.equal(len(sessions), 1, "sessions")
	w.equal(sessions[0].ID, session, "session")
}

// Some days at the shop, to be tried with every fault. They end the same whatever is lost on the way.
func TestStory(t *testing.T) {
	key := os.Getenv("PAYMENTS_EMULATOR_KEY")
	if !strings.HasPrefix(key, "sk_test_") {
		t.Fatal("no PAYMENTS_EMULATOR_KEY")
	}
	w := openShop(t, key)
	paid, unpaid := w.order(2), w.order(2)
	w.equal(w.status(unpaid), "open", "an order was shipped that no one paid")
	w.pay(paid, tooLittleMoney)
	w.pay(paid, pays)
	for click := 0; click < 2; click++ {
		w.must(w.Refund(paid, 1000))
	}
	refunds := w.do("GET", "/_emulator/objects?kind=refund", nil).Data
	w.equal(len(refunds), 1, "refunds made of one")

	awa, ben := w.join("awa@example.org", pays), w.join("ben@example.org", tooLittleMoney)
	w.equal(w.members[ben].Status != "active", true, "no entry for a member who has not paid")
	w.do("PATCH", "/v1/customers/"+ben+"/", fields{"phone": pays})
	if _, err := w.Order("no address", 1); !strings.HasSuffix(fmt.Sprint(err), ": 422") {
		t.Fatal("an order without an address was taken: ", err)
	}

	// A month passes, what was delayed arrives, then the shop does what it does every night.
	w.advance("33d")
	if err := w.Reconcile(); err != nil {
		t.Fatal(err)
	}
	w.equal(*w.orders[paid], order{"awa@example.com", 2, 2, "paid"}, "the paid order")
	w.equal(w.orders[unpaid].Shipped, 0, "baskets shipped that no one paid")
	for _, customer := range []string{awa, ben} {
		w.equal(w.members[customer].Status, "active", "a member who paid")
		w.equal(len(w.members[customer].paid), 2, "months that were paid")
	}
}
