package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Object is one of the service, or a list of them.
type Object map[string]any

// Text returns a field, or "" where it is null or missing.
func (o Object) Text(name string) string {
	text, _ := o[name].(string)
	return text
}

// Number returns a field that is a whole number.
func (o Object) Number(name string) int {
	number, _ := o[name].(float64)
	return int(number)
}

// ServiceError is a response that is no success, or none at all (status 0).
type ServiceError struct {
	Title  string
	Status int
}

func (e ServiceError) Error() string { return fmt.Sprintf("%s: %d", e.Title, e.Status) }

var bugs = strings.Split(os.Getenv("BUG"), ",")

// bug says whether a planted bug is switched on; corpus.yaml lists them.
func bug(name string) bool {
	for _, known := range bugs {
		if known == name {
			return true
		}
	}
	return false
}

const timeLimit = 5 * time.Second

var pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

func client() *http.Client {
	if bug("no_timeout") {
		return &http.Client{}
	}
	return &http.Client{Timeout: timeLimit}
}

func randomKey() string {
	bytes := make([]byte, 16)
	_, _ = rand.Read(bytes)
	return hex.EncodeToString(bytes)
}

// send sends a request once: status, seconds to wait if the service says so, and body.
func send(client *http.Client, method, path string, body any, key string) (int, string, Object) {
	content := []byte{}
	if body != nil {
		content, _ = json.Marshal(body)
	}
	url := os.Getenv("PAYMENTS_EMULATOR_URL") + path
	request, _ := http.NewRequest(method, url, bytes.NewReader(content))
	request.Header.Set("Authorization", "Bearer "+os.Getenv("PAYMENTS_EMULATOR_KEY"))
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", nil
	}
	defer response.Body.Close()
	object := Object{}
	text, err := io.ReadAll(response.Body)
	if err != nil || json.Unmarshal(text, &object) != nil {
		if bug("trusts_bodies") {
			return response.StatusCode, "", Object{}
		}
		return 0, "", nil
	}
	return response.StatusCode, response.Header.Get("Retry-After"), object
}

// call returns the response to a request, which is sent again while its outcome is unknown.
func call(method, path string, body any, key string) (Object, error) {
	if bug("no_key") {
		key = ""
	}
	status := 0
	for attempt := 0; attempt <= len(pauses); attempt++ {
		asked, object := "", Object(nil)
		status, asked, object = send(client(), method, path, body, key)
		if object != nil && status < 300 {
			return object, nil
		}
		if status >= 400 && status < 500 && status != 429 || status == 429 && bug("429_is_final") {
			break
		}
		isGivenUp := status == 0 && bug("never_again") || status >= 500 && bug("error_is_unpaid")
		if isGivenUp || attempt == len(pauses) {
			break
		}
		if status >= 500 && bug("new_key_after_500") && key != "" {
			key = randomKey()
		}
		pause := pauses[attempt]
		if seconds, err := strconv.Atoi(asked); err == nil {
			pause = time.Duration(seconds) * time.Second
			if bug("ignores_retry_after") {
				pause = 10 * time.Millisecond
			}
		}
		time.Sleep(pause)
	}
	return nil, ServiceError{method + " " + path, status}
}

// every returns the objects of all pages of a list.
func every(path string) ([]Object, error) {
	all := []Object{}
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for page := 1; ; page++ {
		list, err := call("GET", fmt.Sprintf("%s%spage=%d", path, separator, page), nil, "")
		if err != nil {
			return nil, err
		}
		data, _ := list["data"].([]any)
		for _, row := range data {
			all = append(all, Object(row.(map[string]any)))
		}
		pagination := Object(list["pagination"].(map[string]any))
		isLast := pagination["next"] == nil
		if bug("page_boundary") {
			isLast = page*pagination.Number("page_size") >= pagination.Number("count")-1
		}
		if isLast || bug("first_page_only") {
			return all, nil
		}
	}
}
