# frozen_string_literal: true

require "json"
require "net/http"
require "securerandom"

BUGS = ENV.fetch("BUG", "").split(",")

# Whether a planted bug is switched on; corpus.yaml lists them.
def bug?(name) = BUGS.include?(name)

# A response that is no success, or none at all (status 0).
class ServiceError < StandardError
  attr_reader :status

  def initialize(title, status)
    super("#{title}: the service responded #{status}")
    @status = status
  end
end

# A client of the payments service, on Ruby's own HTTP.
class Payments
  PAUSES = [1, 2, 4].freeze

  def initialize(limit: 5)
    @limit = limit
  end

  def get(path) = call("GET", path)

  # The objects of all pages of a list.
  def every(path)
    all = []
    (1..).each do |page|
      list = get(page == 1 ? path : "#{path}&page=#{page}")
      all.concat(list["data"])
      return all if list["pagination"]["next"].nil?
    end
  end

  # The response to a request, which is sent again while its outcome is unknown.
  def call(method, path, body = nil, key: nil)
    [*PAUSES, nil].each do |pause|
      key = SecureRandom.uuid if key && bug?("key_per_attempt")
      status, wait, object = attempt(method, path, body, key)
      return object if object && status < 300

      final = status.between?(400, 499) && status != 429
      final ||= status == 429 && bug?("429_is_final")
      raise ServiceError.new("#{method} #{path}", status) if pause.nil? || final

      key = SecureRandom.uuid if key && status >= 500 && bug?("new_key_after_500")
      sleep(bug?("no_pause") ? 0 : wait || pause)
    end
  end

  private

  # Status, seconds to wait if the service says so, and body; nil if none can be read.
  def attempt(method, path, body, key)
    uri = URI(ENV.fetch("PAYMENTS_EMULATOR_URL") + path)
    http = Net::HTTP.new(uri.host, uri.port, nil)
    http.max_retries = 0
    http.read_timeout = bug?("no_timeout") ? nil : @limit
    response = http.start { |open| open.request(request(method, uri, body, key)) }
    wait = response["Retry-After"]&.to_i
    [response.code.to_i, wait, response.body.to_s.empty? ? {} : JSON.parse(response.body)]
  rescue IOError, SystemCallError, Timeout::Error, Net::ProtocolError,
         Net::HTTPBadResponse, JSON::ParserError
    [0, nil, nil]
  end

  def request(method, uri, body, key)
    headers = { "Authorization" => "Bearer #{ENV.fetch('PAYMENTS_EMULATOR_KEY')}",
                "Content-Type" => "application/json" }
    headers["Idempotency-Key"] = key if key && !bug?("no_key")
    made = Net::HTTP.const_get(method.capitalize).new(uri, headers)
    made.body = JSON.generate(body) if body
    made
  end
end
