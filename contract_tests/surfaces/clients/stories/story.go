// The story with the client that openapi-generator makes for Go: go run . SERVER
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"strings"

	payments "example.com/shop/payments"
)

const key = "sk_test_go"

func main() {
	server := os.Args[1]
	configuration := payments.NewConfiguration()
	configuration.Servers = payments.ServerConfigurations{{URL: server + "/v1"}}
	api := payments.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), payments.ContextAccessToken, key)

	body := payments.NewCustomerCreate("awa@example.com", "Awa Diop")
	body.SetPhone("+24177000000")
	customer, _, err := api.CustomersAPI.CreateCustomer(ctx).CustomerCreate(*body).Execute()
	check(err)

	terms := payments.NewSubscriptionPlanCreate("Basic", 5000, "XAF", payments.INTERVAL_MONTH)
	plan, _, err := api.SubscriptionPlansAPI.CreateSubscriptionPlan(ctx).SubscriptionPlanCreate(*terms).Execute()
	check(err)

	line := payments.NewCheckoutLineInput()
	line.SetPlan(plan.Id)
	basket := payments.NewCheckoutSessionCreate([]payments.CheckoutLineInput{*line}, "XAF")
	basket.SetMode(payments.CHECKOUTMODE_SUBSCRIPTION)
	basket.SetCustomer(customer.Id)
	session, _, err := api.CheckoutSessionsAPI.CreateCheckoutSession(ctx).CheckoutSessionCreate(*basket).Execute()
	check(err)
	control(server+"/_emulator/checkout-sessions/"+session.Id+"/pay", "{}")
	session, _, err = api.CheckoutSessionsAPI.GetCheckoutSession(ctx, session.Id).Execute()
	check(err)
	expect(session.Status == payments.CHECKOUTSESSIONSTATUS_COMPLETE, "the session is not complete")

	control(server+"/_emulator/clock/advance", `{"by": "31d"}`)
	invoices, _, err := api.InvoicesAPI.ListInvoices(ctx).Customer(customer.Id).Status([]payments.InvoiceStatus{payments.INVOICESTATUS_PAID}).Execute()
	check(err)
	expect(len(invoices.Data) == 2, "two paid invoices were expected")

	transactions, _, err := api.TransactionsAPI.ListTransactions(ctx).Customer(customer.Id).Execute()
	check(err)
	part := payments.NewRefundCreate(transactions.Data[0].Id)
	part.SetAmount(2000)
	refund, _, err := api.RefundsAPI.CreateRefund(ctx).RefundCreate(*part).Execute()
	check(err)
	expect(refund.Status == payments.REFUNDSTATUS_PROCESSING, "the refund is not processing")

	_, _, err = api.CustomersAPI.GetCustomer(ctx, "cust_000000000000000000000000").Execute()
	var problem *payments.GenericOpenAPIError
	expect(errors.As(err, &problem), "a typed error was expected")
	missing, typed := problem.Model().(payments.AnyError)
	expect(typed && missing.ApiError.Code == payments.ERRORCODE_CUSTOMER_NOT_FOUND, "CUSTOMER_NOT_FOUND was expected")
}

// control does what no client of the service can: it pays as a buyer would, and moves the clock.
func control(url, body string) {
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	check(err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	check(err)
	expect(answer.StatusCode == http.StatusOK, answer.Status)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(fact bool, otherwise string) {
	if !fact {
		log.Fatal(otherwise)
	}
}
