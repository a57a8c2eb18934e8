#!/bin/sh
# Recorded with the payments emulator. Needs curl, jq and a running emulator: payments-emulator exec -- sh FILE
set -eu
: "${PAYMENTS_EMULATOR_URL:=http://127.0.0.1:4747}" "${PAYMENTS_EMULATOR_KEY:=sk_test_recorded}"

call() { # STATUS METHOD PATH [CURL OPTIONS]; the response is in $response
  expected=$1 method=$2 path=$3
  shift 3
  response=$(curl -sS -X "$method" -w '\n%{http_code}' -H "Authorization: Bearer $PAYMENTS_EMULATOR_KEY" \
    -H 'Content-Type: application/json' "$@" "$PAYMENTS_EMULATOR_URL$path")
  status=$(printf '%s\n' "$response" | tail -n 1)
  response=$(printf '%s\n' "$response" | sed '$d')
  if [ "$status" != "$expected" ]; then
    echo "$method $path: $status instead of $expected: $response" >&2
    exit 1
  fi
}

field() { printf '%s' "$response" | jq -c "$1"; }

text() { printf '%s' "$response" | jq -r "$1"; }

expect() { # FIELD JSON: a field of the response has this value
  if [ "$(field "$1")" != "$2" ]; then
    echo "$1 is $(field "$1") instead of $2" >&2
    exit 1
  fi
}
