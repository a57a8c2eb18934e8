#!/bin/sh
# Recorded with the payments emulator. Needs curl, jq and a running emulator: payments-emulator exec -- sh FILE
set -eu
: "${PAYMENTS_EMULATOR_URL:=http://127.0.0.1:4747}" "${PAYMENTS_EMULATOR_KEY:=sk_test_recorded}"

call() { # STATUS METHOD PATH [CURL OPTIONS]; the answer is in $answer
  expected=$1 method=$2 path=$3
  shift 3
  answer=$(curl -sS -X "$method" -w '\n%{http_code}' -H "Authorization: Bearer $PAYMENTS_EMULATOR_KEY" \
    -H 'Content-Type: application/json' "$@" "$PAYMENTS_EMULATOR_URL$path")
  status=$(printf '%s\n' "$answer" | tail -n 1)
  answer=$(printf '%s\n' "$answer" | sed '$d')
  if [ "$status" != "$expected" ]; then
    echo "$method $path: $status instead of $expected: $answer" >&2
    exit 1
  fi
}

field() { printf '%s' "$answer" | jq -c "$1"; }

text() { printf '%s' "$answer" | jq -r "$1"; }

expect() { # FIELD JSON: a field of the answer has this value
  if [ "$(field "$1")" != "$2" ]; then
    echo "$1 is $(field "$1") instead of $2" >&2
    exit 1
  fi
}
