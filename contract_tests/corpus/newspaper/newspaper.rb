# frozen_string_literal: true

# A newspaper sells subscriptions, day passes and upgrades: `ruby newspaper.rb PORT` serves it.

require "openssl"
require "socket"
require_relative "payments"

# Play the case of the environment, or one after another with the variables of each.
def each_case
  cases = ENV.key?("PAYMENTS_EMULATOR_CASES") ? $stdin.each_line : ["{}"]
  cases.each do |variables|
    ENV.update(JSON.parse(variables))
    yield
    puts '{"done": true}'
    $stdout.flush
  end
end

# What readers have; the book is a file, which is replaced as a whole.
class Newspaper
  WEEKEND = 4000
  DAILY = 9000
  PASS = 700
  EVENTS = %w[invoice.paid subscription.created subscription.payment_failed
              subscription.canceled checkout.session.completed payment_intent.succeeded
              refund.succeeded].freeze
  # What an event says of a subscription, and which of two at the same moment is the later one.
  STATUSES = { "subscription.created" => ["joining", 0], "invoice.paid" => ["active", 2],
               "subscription.payment_failed" => ["past_due", 1],
               "subscription.canceled" => ["canceled", 3] }.freeze

  attr_reader :book, :payments
  attr_accessor :secret

  def initialize(folder = ENV.fetch("PAYMENTS_EMULATOR_FOLDER", "."))
    @file = File.join(folder, "newspaper.json")
    @book = File.exist?(@file) ? JSON.parse(File.read(@file)) : empty
    @secret = ENV.fetch("WEBHOOK_SECRET", "")
    @payments = Payments.new
    @lock = Monitor.new
  end

  def empty
    { "readers" => {}, "passes" => {}, "gifts" => {}, "handled" => {}, "plans" => {} }
  end

  # Change the book, one thread at a time.
  def change
    @lock.synchronize do
      result = yield
      File.write("#{@file}.new", JSON.generate(@book))
      File.rename("#{@file}.new", @file)
      result
    end
  end

  # -- what readers and the staff do

  def open_plans
    { "weekend" => WEEKEND, "daily" => DAILY }.each do |name, amount|
      plan = { name: name, amount: amount, currency: "XAF", interval: "month" }
      id = payments.call("POST", "/v1/subscription-plans/", plan, key: "plan-#{name}")["id"]
      change { @book["plans"][name] = id }
    end
  end

  def subscribe(email, phone)
    person = { email: email, name: email, phone: phone }
    customer = payments.call("POST", "/v1/customers/", person, key: "reader-#{email}")["id"]
    reader = { "customer" => customer, "status" => "joining", "latest" => ["", 0],
               "paid" => [], "months" => 0, "refunded" => 0, "upgrades" => 0, "refunds" => {} }
    change { @book["readers"][email] = reader }
    terms = { customer: customer, plan: @book["plans"]["weekend"] }
    made = payments.call("POST", "/v1/subscriptions/", terms, key: "subscription-#{email}")
    change { reader["subscription"] = made["id"] }
  end

  # Upgrade a reader, who pays the difference for this month now and gets the daily issue then.
  def upgrade(email)
    reader = @book["readers"][email]
    difference = { amount: DAILY - WEEKEND, currency: "XAF", customer: reader["customer"],
                   payment_method: default_method(reader), metadata: { upgrade: email } }
    key = bug?("upgrade_without_key") ? nil : "upgrade-#{email}"
    key &&= SecureRandom.uuid if bug?("upgrade_key_random")
    intent = payments.call("POST", "/v1/payment-intents/", difference, key: key)["id"]
    paid = payments.call("POST", "/v1/payment-intents/#{intent}/confirm/", {},
                         key: "confirm-#{intent}")
    is_waiting = %w[processing requires_action].include?(paid["status"])
    return unless paid["status"] == "succeeded" || (is_waiting && bug?("processing_is_paid"))

    move(email)
  end

  # Move a reader to the daily issue, once: the response and the webhook both say that it is paid.
  def move(email)
    reader = @book["readers"][email]
    is_new = change do
      before = reader["upgrades"]
      reader["upgrades"] = 1
      before.zero?
    end
    return unless is_new

    payments.call("PATCH", "/v1/subscriptions/#{reader['subscription']}/",
                  { plan: @book["plans"]["daily"] })
  end

  def default_method(reader)
    path = "/v1/customers/#{reader['customer']}/payment-methods/"
    payments.get(path)["data"].first["id"]
  end

  def change_phone(email, phone)
    customer = @book["readers"][email]["customer"]
    payments.call("PATCH", "/v1/customers/#{customer}/", { phone: phone })
  end

  def cancel(email)
    id = @book["readers"][email]["subscription"]
    payments.call("POST", "/v1/subscriptions/#{id}/cancel/", {}, key: "cancel-#{id}")
  end

  # Pay a missed issue back, once for each date.
  def missed(email, date, amount)
    reader = @book["readers"][email]
    path = "/v1/transactions/?customer=#{reader['customer']}&type=deposit&page_size=1"
    transaction = payments.get(path)["data"].first["id"]
    refund = payments.call("POST", "/v1/refunds/", { transaction: transaction, amount: amount },
                           key: "missed-#{email}-#{date}")
    change do
      reader["refunds"][refund["id"]] = bug?("refund_at_request")
      reader["refunded"] += amount if bug?("refund_at_request")
    end
  end

  def day_pass(visitor, home)
    order = { mode: "payment", currency: "XAF", customer_email: "#{visitor}@example.com",
              success_url: "#{home}/thanks?session={CHECKOUT_SESSION_ID}",
              line_items: [{ description: "Day pass", unit_amount: PASS }] }
    id = payments.call("POST", "/v1/checkout-sessions/", order, key: "pass-#{visitor}")["id"]
    change { @book["passes"][id] ||= { "visitor" => visitor, "status" => "open" } }
    id
  end

  # The page to which a buyer comes back, which proves nothing.
  def thank(session)
    return unless @book["passes"].key?(session)

    bug?("trust_redirect") ? pass_paid(session) : look_up(session)
  end

  def look_up(session)
    status = payments.get("/v1/checkout-sessions/#{session}/")["status"]
    pass_paid(session) if status == "complete"
    change { @book["passes"][session]["status"] = "expired" } if status == "expired"
  end

  def pass_paid(session)
    change { @book["passes"][session]["status"] = "paid" }
  end

  def gift_link
    link = { payment_link_type: "donation", currency: "XAF", name: "Support us" }
    payments.call("POST", "/v1/payment-links/", link, key: "gift-link")["id"]
  end

  # Every night: ask for everything that no webhook has said.
  def night
    return if bug?("no_reconcile")

    @book["passes"].each { |id, pass| look_up(id) if pass["status"] == "open" }
    status_of = payments.every("/v1/subscriptions/?page_size=100").to_h do |one|
      [one["id"], one["status"]]
    end
    paid = payments.every("/v1/invoices/?status=paid&page_size=100")
    change do
      @book["readers"].each_value do |reader|
        status = status_of[reader["subscription"]]
        reader["status"] = status if status
      end
    end
    paid.each { |invoice| month_paid(reader_of(invoice["customer"]), invoice) }
    night_of_money
  end

  def night_of_money
    payments.every("/v1/payment-intents/?status=succeeded&page_size=100").each do |intent|
      money(intent)
    end
    @book["readers"].each_value do |reader|
      open = reader["refunds"].reject { |_, is_counted| is_counted }.keys
      open.each { |id| paid_back(payments.get("/v1/refunds/#{id}/")) }
    end
  end

  # -- what webhooks say

  def reader_of(customer)
    @book["readers"].values.find { |reader| reader["customer"] == customer }
  end

  def month_paid(reader, invoice, repeats: false)
    change do
      next if reader.nil? || (reader["paid"].include?(invoice["id"]) && !repeats)

      reader["paid"] |= [invoice["id"]]
      reader["months"] += 1
    end
  end

  def money(intent)
    email = intent.dig("metadata", "upgrade")
    reader = @book["readers"][email]
    move(email) if reader
    change { @book["gifts"][intent["id"]] = intent["amount"] } if intent["payment_link"]
  end

  def paid_back(refund)
    return unless refund["status"] == "succeeded"

    reader = @book["readers"].values.find { |one| one["refunds"].key?(refund["id"]) }
    change do
      next if reader.nil? || (reader["refunds"][refund["id"]] && !bug?("refund_adds"))

      reader["refunds"][refund["id"]] = true
      reader["refunded"] += refund["amount"]
    end
  end

  def hear(event)
    about = event["data"]["object"]
    return if bug?("dedupe_by_event") && known?(event["id"])

    case event["type"]
    when "checkout.session.completed" then pass_paid(about["id"]) if @book["passes"][about["id"]]
    when "payment_intent.succeeded" then money(about)
    when "refund.succeeded" then paid_back(about)
    when "invoice.paid"
      repeats = bug?("no_dedupe") || bug?("dedupe_by_event")
      month_paid(reader_of(about["customer"]), about, repeats: repeats)
    end
    follow(event, about) if STATUSES.key?(event["type"])
  end

  def known?(id)
    change do
      known = @book["handled"].key?(id)
      @book["handled"][id] = true
      known
    end
  end

  # An older event does not undo what a newer one said.
  def follow(event, about)
    reader = reader_of(about["customer"])
    status, rank = STATUSES.fetch(event["type"])
    news = [event["created_at"], bug?("same_moment") ? 0 : rank]
    change do
      next if reader.nil? || ((news <=> reader["latest"]) == -1 && !bug?("stale_event"))

      reader["status"] = status
      reader["latest"] = news
    end
  end

  # -- the server

  def genuine?(signature, body)
    expected = OpenSSL::HMAC.hexdigest("SHA256", @secret, body)
    return true if bug?("no_signature")
    return bug?("missing_header_ok") if signature.to_s.empty?
    return expected.start_with?(signature) if bug?("shortened_signature")

    OpenSSL.secure_compare(expected, signature)
  end

  def respond(method, path, headers, body)
    if method == "GET"
      thank(path[/session=(\w+)/, 1])
      return 200
    end
    event = JSON.parse(body)
    return 200 if event["type"] == "webhook.ping"
    return 401 unless genuine?(headers["service-signature"], body)

    hear(event)
    200
  rescue StandardError => e
    warn("#{e.message} (#{e.class})")
    500
  end

  def serve(server)
    loop { Thread.new(server.accept) { |client| converse(client) } }
  end

  def converse(client)
    method, path = client.gets.to_s.split
    headers = {}
    while (line = client.gets.to_s.chomp) != ""
      name, value = line.split(": ", 2)
      headers[name.downcase] = value
    end
    status = respond(method, path, headers, client.read(headers["content-length"].to_i))
    client.write("HTTP/1.1 #{status} -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
  rescue SystemCallError, IOError
    nil # Nobody waits for the response any more.
  ensure
    client.close
  end

  # The book without ids and times.
  def report
    shown = %w[status months refunded upgrades]
    readers = @book["readers"].transform_values { |reader| reader.slice(*shown) }
    passes = @book["passes"].values.to_h { |pass| [pass["visitor"], pass["status"]] }
    { readers: readers, passes: passes, gifts: @book["gifts"].values.sort }
  end
end

if $PROGRAM_NAME == __FILE__
  if ARGV == ["report"]
    each_case { puts JSON.generate(Newspaper.new.report) }
  else
    newspaper = Newspaper.new
    newspaper.serve(TCPServer.new("127.0.0.1", ARGV.first.to_i))
  end
end
