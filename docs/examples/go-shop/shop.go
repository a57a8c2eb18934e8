// A small web shop: it sells baskets and memberships, and hears by webhook what is paid.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	price = 2000 // of a basket, in francs
	fee   = 5000 // of a month's membership
)

// What a subscription's status, or an event, says of a member.
var statuses = map[string]string{
	"invoice.paid": "active", "subscription.active": "active",
	"subscription.payment_failed": "overdue", "subscription.past_due": "overdue",
	"subscription.canceled": "out",
}

type order struct {
	Email            string
	Baskets, Shipped int
	Status           string
}

type member struct {
	Status string
	latest string          // when the last event was, as far as is known
	paid   map[string]bool // the invoices that are paid, one for each month
}

// Shop is an http.Handler. URL and Key are those of the payments service, Secret is that of the webhook endpoint.
type Shop struct {
	URL, Key, Secret string
	Pauses           []time.Duration // before each further attempt at a request

	mutex   sync.Mutex
	orders  map[string]*order  // by checkout session
	members map[string]*member // by customer
	handled map[string]bool
	client  http.Client
}

// NewShop opens a shop that no one has ordered from yet.
func NewShop(url, key, secret string) *Shop {
	return &Shop{
		URL: url, Key: key, Secret: secret, Pauses: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
		orders: map[string]*order{}, members: map[string]*member{}, handled: map[string]bool{},
		client: http.Client{Timeout: 10 * time.Second},
	}
}

// Order begins an order; the answer has the URL where the buyer pays it.
func (shop *Shop) Order(email string, baskets int) (object, error) {
	session, err := shop.call("POST", "/v1/checkout-sessions/", fields{
		"mode": "payment", "currency": "XAF", "success_url": "https://shop.example.com/thanks", "customer_email": email,
		"line_items": []fields{{"description": "Basket", "unit_amount": price, "quantity": baskets}},
	}, newKey())
	if err == nil {
		shop.mutex.Lock()
		defer shop.mutex.Unlock()
		shop.orders[session.ID] = &order{Email: email, Baskets: baskets, Status: "open"}
	}
	return session, err
}

// Thank is the page to which the buyer returns, which proves nothing; it answers the order's status.
func (shop *Shop) Thank(id string) (string, error) {
	err := shop.lookUp(id)
	shop.mutex.Lock()
	defer shop.mutex.Unlock()
	if order := shop.orders[id]; order != nil {
		return order.Status, err
	}
	return "", err
}

// Join signs a member up, who pays now and every month.
func (shop *Shop) Join(email, phone string) (object, error) {
	customer, err := shop.call("POST", "/v1/customers/", fields{"email": email, "name": email, "phone": phone}, newKey())
	if err != nil {
		return customer, err
	}
	// Before the request that charges: its webhook may come before its answer.
	shop.mutex.Lock()
	shop.members[customer.ID] = &member{Status: "joining", paid: map[string]bool{}}
	shop.mutex.Unlock()
	terms := fields{"customer": customer.ID, "unit_amount": fee, "interval": "month"}
	_, err = shop.call("POST", "/v1/subscriptions/", terms, "subscription-of-"+customer.ID)
	return customer, err
}

// Refund pays back a part of an order. A second click on the button pays nothing more.
func (shop *Shop) Refund(id string, amount int) (object, error) {
	session, err := shop.call("GET", "/v1/checkout-sessions/"+id+"/", nil, "")
	if err != nil {
		return session, err
	}
	intent, err := shop.call("GET", "/v1/payment-intents/"+session.PaymentIntent+"/", nil, "")
	if err != nil {
		return intent, err
	}
	body := fields{"transaction": intent.Transaction, "amount": amount}
	return shop.call("POST", "/v1/refunds/", body, fmt.Sprintf("refund-%s-%d", id, amount))
}

// Reconcile looks up, every night, what no webhook has said.
func (shop *Shop) Reconcile() error {
	orders, members := shop.open()
	for _, session := range orders {
		if err := shop.lookUp(session); err != nil {
			return err
		}
	}
	for _, customer := range members {
		found, err := shop.call("GET", "/v1/subscriptions/?customer="+customer, nil, "")
		for _, subscription := range found.Data {
			var invoices object
			query := "?page_size=100&status=paid&subscription=" + subscription.ID
			invoices, err = shop.call("GET", "/v1/invoices/"+query, nil, "")
			shop.settle(customer, subscription.Status, invoices.Data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// What may still change: the orders that are not paid, and the members.
func (shop *Shop) open() (orders, members []string) {
	shop.mutex.Lock()
	defer shop.mutex.Unlock()
	for session, order := range shop.orders {
		if order.Status != "paid" {
			orders = append(orders, session)
		}
	}
	for customer := range shop.members {
		members = append(members, customer)
	}
	return orders, members
}

func (shop *Shop) settle(customer, status string, paid []object) {
	shop.mutex.Lock()
	defer shop.mutex.Unlock()
	member := shop.members[customer]
	if known := statuses["subscription."+status]; known != "" {
		member.Status = known
	}
	for _, invoice := range paid {
		member.paid[invoice.ID] = true
	}
}

func (shop *Shop) lookUp(id string) error {
	session, err := shop.call("GET", "/v1/checkout-sessions/"+id+"/", nil, "")
	if err == nil && session.Status == "complete" {
		shop.mutex.Lock()
		defer shop.mutex.Unlock()
		shop.ship(shop.orders[id])
	}
	return err
}

// ServeHTTP answers browsers and the payments service.
func (shop *Shop) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	var form struct { // of the fields that a browser sends only these count
		Email, Phone string
		Baskets      int
	}
	route := request.Method + " " + request.URL.Path
	switch {
	case route == "POST /webhooks":
		response.WriteHeader(shop.hear(request.Header.Get("Service-Signature"), body))
	case route == "POST /orders" && json.Unmarshal(body, &form) == nil:
		session, err := shop.Order(form.Email, form.Baskets)
		answer(response, http.StatusCreated, fields{"pay_at": session.URL}, err)
	case route == "POST /members" && json.Unmarshal(body, &form) == nil:
		customer, err := shop.Join(form.Email, form.Phone)
		answer(response, http.StatusCreated, fields{"member": customer.ID}, err)
	case strings.HasPrefix(route, "GET /thanks/"):
		status, err := shop.Thank(strings.TrimPrefix(route, "GET /thanks/"))
		answer(response, http.StatusOK, fields{"status": status}, err)
	default:
		http.NotFound(response, request)
	}
}

func answer(response http.ResponseWriter, status int, body fields, err error) {
	if err != nil {
		status, body = http.StatusBadGateway, fields{"error": err.Error()}
	}
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	_ = json.NewEncoder(response).Encode(body)
}

func (shop *Shop) hear(signature string, body []byte) int {
	event, err := read(body)
	// The ping that tries the address comes before anybody knows the secret.
	if err != nil || event.Type != "webhook.ping" && !signed(body, signature, shop.Secret) {
		return http.StatusUnauthorized
	}
	shop.mutex.Lock()
	defer shop.mutex.Unlock()
	// An event may arrive twice; the second time there is nothing left to do.
	if !shop.handled[event.ID] {
		shop.handled[event.ID] = true
		shop.handle(event.Type, event.At, event.Data.Object)
	}
	return http.StatusOK
}

func (shop *Shop) handle(kind, at string, about object) {
	order := shop.orders[about.ID]
	if order != nil && kind == "checkout.session.completed" && about.AmountTotal == order.Baskets*price {
		shop.ship(order)
	}
	// Events may come in any order: a paid order stays paid.
	order = shop.orders[about.CheckoutSession]
	if order != nil && kind == "payment_intent.failed" && order.Status != "paid" {
		order.Status = "declined"
	}
	if member := shop.members[about.Customer]; member != nil {
		if kind == "invoice.paid" {
			member.paid[about.ID] = true
		}
		// An older event does not undo what a newer one said.
		if status := statuses[kind]; status != "" && at >= member.latest {
			member.Status, member.latest = status, at
		}
	}
}

func (shop *Shop) ship(order *order) {
	if order != nil && order.Status != "paid" {
		order.Status = "paid"
		order.Shipped += order.Baskets
	}
}
