# frozen_string_literal: true

# Half a year at the newspaper: four readers, an upgrade in spring, day passes, gifts, refunds.

require_relative "newspaper"

PAYS = "+24177000000"
TOO_LITTLE_MONEY = "+24177000001"

# The sandbox waits for webhooks before it answers, so it has time.
SANDBOX = Payments.new(limit: 120)

def control(path, body) = SANDBOX.call("POST", path, body)

def advance(by) = control("/_emulator/clock/advance", { by: by })

def pay(kind, id, phone, **more)
  body = { method: { type: "mobile_money", phone: phone }, **more }
  status = control("/_emulator/#{kind}/#{id}/pay", body)["status"]
  advance("1s")
  status
end

def half_year
  newspaper = Newspaper.new
  server = TCPServer.new("127.0.0.1", 0)
  home = "http://127.0.0.1:#{server.addr[1]}"
  serving = Thread.new { newspaper.serve(server) }
  hook = { name: "Newspaper", url: "#{home}/webhooks", events: Newspaper::EVENTS }
  newspaper.secret = control("/v1/webhooks/", hook)["secret"]

  # January: two readers, and a visitor whose first payment fails.
  newspaper.open_plans
  newspaper.subscribe("awa@example.com", PAYS)
  newspaper.subscribe("ben@example.com", PAYS)
  advance("1s")
  come_back = ->(session) { Net::HTTP.get(URI("#{home}/thanks?session=#{session}")) }
  first = newspaper.day_pass("cyr", home)
  pay("checkout-sessions", first, TOO_LITTLE_MONEY)
  come_back.call(first) if pay("checkout-sessions", first, PAYS) == "succeeded"
  advance("16h")
  newspaper.night
  advance("5d")

  # February: a third reader; the link for gifts; nobody pays a day pass.
  advance("24d")
  newspaper.subscribe("dia@example.com", PAYS)
  gifts = newspaper.gift_link
  eli = { email: "eli@example.com", name: "Eli" }
  pay("payment-links", gifts, PAYS, amount: 5000, customer: eli)
  newspaper.day_pass("fay", home)
  advance("2d")
  newspaper.night
  newspaper.missed("awa@example.com", "2026-02-05", 300)
  advance("4d")

  # March: Ben has no money when the month begins, and has some later. Awa takes the daily issue.
  newspaper.change_phone("ben@example.com", TOO_LITTLE_MONEY)
  advance("25d")
  newspaper.change_phone("ben@example.com", PAYS)
  advance("3d")
  newspaper.upgrade("awa@example.com")
  advance("2h")
  newspaper.night

  # April: a fourth reader, more gifts and passes.
  advance("29d")
  newspaper.subscribe("gus@example.com", PAYS)
  pay("payment-links", gifts, PAYS, amount: 2500, customer: eli)
  second = newspaper.day_pass("hal", home)
  come_back.call(second) if pay("checkout-sessions", second, PAYS) == "succeeded"
  newspaper.missed("ben@example.com", "2026-04-01", 300)
  advance("4d")
  newspaper.night

  # May: Dia leaves, Gus takes the daily issue.
  advance("20d")
  newspaper.cancel("dia@example.com")
  advance("1d")
  newspaper.upgrade("gus@example.com")
  advance("2h")
  newspaper.night

  # June and July: nothing but the months.
  advance("30d")
  newspaper.night
  advance("35d")
  newspaper.night
  serving.kill
  server.close
end

each_case { half_year }
