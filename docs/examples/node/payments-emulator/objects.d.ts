// The objects of the service. Written from the OpenAPI documents, not by hand.

/** An object of the service, or its id. */
export type Ref = string | { id: string };

export interface Customer {
  id: string;
  object: "customer";
  app: string;
  email: string | null;
  firstname: string;
  lastname: string;
  phone: string | null;
  address: Address | null;
  status: CustomerStatus;
  is_blacklisted: boolean;
  transactions_count: number;
  total_spent: number;
  currency: string;
  metadata: Record<string, any>;
  created_at: string;
  updated_at: string;
}

export interface Address {
  id: string;
  object: "address";
  customer: string;
  line1: string;
  line2: string | null;
  city: string;
  state: string | null;
  postal_code: string | null;
  country: string;
  is_default: boolean;
  created_at: string;
  updated_at: string;
}

export type CustomerStatus = "active" | "inactive" | "blocked";

export interface PaymentMethod {
  id: string;
  object: "payment_method";
  app: string;
  customer: string;
  type: PaymentMethodType;
  status: PaymentMethodStatus;
  is_default: boolean;
  details: PaymentMethodDetails;
  metadata: Record<string, any>;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export type PaymentMethodType = "mobile_money" | "bank_card" | "bank_transfer" | "paypal";

export type PaymentMethodStatus = "active" | "inactive" | "expired";

export interface PaymentMethodDetails {
  operator?: string | null;
  phone?: string;
  country?: string | null;
  brand?: string;
  last4?: string;
  exp_month?: number;
  exp_year?: number;
  bank?: string | null;
  email?: string;
}

export interface Product {
  id: string;
  object: "product";
  app: string;
  name: string;
  description: string | null;
  images: Array<string>;
  unit_amount: number;
  currency: string;
  price_type: PriceType;
  active: boolean;
  metadata: Record<string, any>;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export type PriceType = "fixed" | "free";

export interface SubscriptionPlan {
  id: string;
  object: "subscription_plan";
  name: string;
  description: string | null;
  amount: number;
  currency: string;
  interval: Interval;
  interval_count: number;
  trial_period_days: number;
  active: boolean;
  metadata: Record<string, any>;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export type Interval = "day" | "week" | "month" | "year";

export interface Subscription {
  id: string;
  object: "subscription";
  app: string;
  customer: string;
  status: SubscriptionStatus;
  currency: string;
  unit_amount: number;
  interval: Interval;
  interval_count: number;
  collection_method: CollectionMethod;
  current_period_start: string;
  current_period_end: string;
  trial_start: string | null;
  trial_end: string | null;
  canceled_at: string | null;
  cancel_at_period_end: boolean;
  payment_method: string | null;
  plan: string | null;
  product: string | null;
  ends_at: string | null;
  metadata: Record<string, any>;
  created_at: string;
  updated_at: string;
}

export type SubscriptionStatus = "trialing" | "active" | "past_due" | "paused" | "canceled" | "unpaid" | "expired";

export type CollectionMethod = "charge_automatically" | "send_invoice";

export interface CheckoutSession {
  id: string;
  object: "checkout_session";
  mode: CheckoutMode;
  status: CheckoutSessionStatus;
  currency: string;
  amount_total: number;
  amount_subtotal: number;
  payment_intent: string | null;
  customer: string | null;
  customer_email: string | null;
  url: string;
  success_url: string | null;
  cancel_url: string | null;
  line_items: Array<CheckoutLine>;
  payment_method_types: Array<PaymentMethodType>;
  expires_at: string;
  metadata: Record<string, any>;
  livemode: boolean;
  created_at: string;
}

export type CheckoutMode = "payment" | "subscription" | "setup";

export type CheckoutSessionStatus = "open" | "processing" | "complete" | "expired" | "payment_failed";

export interface CheckoutLine {
  product: string | null;
  description: string;
  quantity: number;
  unit_amount: number;
  amount_total: number;
}

export interface PaymentLink {
  id: string;
  object: "payment_link";
  name: string | null;
  url: string;
  payment_link_type: PaymentLinkType;
  currency: string;
  amount: number | null;
  products: Array<string>;
  status: PaymentLinkStatus;
  validity_type: ValidityType;
  max_usage: number | null;
  usage_count: number;
  expires_at: string | null;
  redirect_url: RedirectUrl;
  payment_method_types: Array<PaymentMethodType>;
  collect_customer_info: boolean;
  allow_quantity: boolean;
  metadata: Record<string, any>;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export type PaymentLinkType = "product" | "custom" | "donation";

export type PaymentLinkStatus = "active" | "archived";

export type ValidityType = "unlimited" | "limited" | "one_time";

export interface RedirectUrl {
  success: string | null;
  cancel: string | null;
}

export interface PaymentIntent {
  id: string;
  object: "payment_intent";
  app: string;
  amount: number;
  amount_capturable: number;
  amount_received: number;
  currency: string;
  status: PaymentIntentStatus;
  capture_method: CaptureMethod;
  customer: string | null;
  customer_email: string | null;
  payment_method: string | null;
  payment_method_type: PaymentMethodType | null;
  payment_method_types: Array<PaymentMethodType>;
  description: string | null;
  next_action: NextAction | null;
  last_error: PaymentError | null;
  checkout_session: string | null;
  payment_link: string | null;
  invoice: string | null;
  subscription: string | null;
  transaction: string | null;
  metadata: Record<string, any>;
  canceled_at: string | null;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export type PaymentIntentStatus = "requires_payment_method" | "requires_confirmation" | "requires_action" | "processing" | "requires_capture" | "succeeded" | "canceled";

export type CaptureMethod = "automatic" | "manual";

export interface NextAction {
  type: "confirm_on_phone" | "confirm_card" | "redirect";
  phone?: string;
  url?: string;
  expires_at?: string;
}

export interface PaymentError {
  code: string;
  message: string;
}

export interface Transaction {
  id: string;
  object: "transaction";
  app: string;
  amount: number;
  amount_refunded: number;
  fee: number;
  fee_rate: number;
  commission: number;
  commission_rate: number;
  net_amount: number;
  currency: string;
  status: TransactionStatus;
  type: TransactionType;
  description: string | null;
  payment_intent: string | null;
  customer: string | null;
  payment_method_type: PaymentMethodType;
  operator: string | null;
  processed_at: string | null;
  metadata: Record<string, any>;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export type TransactionStatus = "approved" | "pending" | "completed" | "failed" | "refunded" | "disputed" | "canceled";

export type TransactionType = "deposit" | "refund" | "payout" | "withdraw" | "transfer";

export interface Invoice {
  id: string;
  object: "invoice";
  invoice_number: string;
  status: InvoiceStatus;
  customer: string;
  customer_email: string | null;
  subscription: string | null;
  payment_intent: string | null;
  transaction: string | null;
  currency: string;
  subtotal: number;
  tax_amount: number;
  discount_amount: number;
  total: number;
  amount_paid: number;
  amount_remaining: number;
  due_date: string | null;
  description: string | null;
  footer: string | null;
  payment_url: string | null;
  pdf_url: string | null;
  line_items: Array<InvoiceLine>;
  metadata: Record<string, any>;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export type InvoiceStatus = "draft" | "open" | "paid" | "void" | "uncollectible";

export interface InvoiceLine {
  product: string | null;
  description: string;
  quantity: number;
  unit_amount: number;
  amount: number;
}

export interface Refund {
  id: string;
  object: "refund";
  transaction: string;
  amount: number;
  currency: string;
  status: RefundStatus;
  reason: RefundReason | null;
  description: string | null;
  failure_reason: string | null;
  payment_method_type: PaymentMethodType;
  refunded_at: string | null;
  metadata: Record<string, any>;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export type RefundStatus = "pending" | "processing" | "succeeded" | "failed" | "cancelled" | "expired";

export type RefundReason = "duplicate" | "fraudulent" | "customer_request" | "product_issue" | "service_not_rendered";

export interface Receipt {
  id: string;
  object: "receipt";
  app: string;
  number: string;
  transaction: string;
  customer: string | null;
  customer_email: string | null;
  amount: number;
  currency: string;
  url: string;
  livemode: boolean;
  created_at: string;
}

export interface SecurityProfile {
  id: string;
  object: "security_profile";
  name: string;
  allowed_ips: Array<string>;
  allowed_domains: Array<string>;
  max_amount: number | null;
  allowed_payment_methods: Array<AllowedPaymentMethodType>;
  blocked_countries: Array<string>;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export type AllowedPaymentMethodType = "mobile_money" | "bank_card" | "bank_transfer";

export interface WebhookEndpointWithSecret {
  id: string;
  object: "webhook_endpoint";
  app: string;
  name: string;
  url: string;
  events: Array<EventSelector>;
  security_profile: SigningMethod;
  ssl_verification: boolean;
  retry_policy: RetryPolicy;
  enabled: boolean;
  metadata: Record<string, any>;
  livemode: boolean;
  created_at: string;
  updated_at: string;
  secret: string;
}

export type EventSelector = "*" | "payment_intent.succeeded" | "payment_intent.failed" | "transaction.succeeded" | "refund.succeeded" | "refund.failed" | "invoice.paid" | "invoice.payment_overdue" | "checkout.session.completed" | "subscription.created" | "subscription.canceled" | "subscription.payment_failed" | "subscription.trial_will_end" | "customer.created" | "customer.deleted";

export type SigningMethod = "HMAC_SHA256" | "JWT" | "BASIC";

export interface RetryPolicy {
  max_attempts: number;
  backoff_type: BackoffType;
}

export type BackoffType = "exponential" | "linear";

export interface Event {
  id: string;
  object: "event";
  type: EventType;
  api_version: "v1";
  app: string;
  livemode: boolean;
  created_at: string;
  request: string | null;
  data: EventData;
}

export type EventType = "payment_intent.succeeded" | "payment_intent.failed" | "transaction.succeeded" | "refund.succeeded" | "refund.failed" | "invoice.paid" | "invoice.payment_overdue" | "checkout.session.completed" | "subscription.created" | "subscription.canceled" | "subscription.payment_failed" | "subscription.trial_will_end" | "customer.created" | "customer.deleted" | "webhook.ping" | "webhook.test";

export interface EventData {
  object: Record<string, any>;
  metadata?: CarriedMetadata;
}

export interface CarriedMetadata {
  plan?: Record<string, any>;
  product?: Record<string, any>;
  payment_link?: Record<string, any>;
}

export interface Email {
  id: string;
  object: "email";
  kind: EmailKind;
  to: string;
  from: string;
  subject: string;
  language: string;
  customer: string | null;
  invoice: string | null;
  subscription: string | null;
  transaction: string | null;
  receipt: string | null;
  refund: string | null;
  attachments: Array<EmailAttachment>;
  created_at: string;
}

export type EmailKind = "invoice" | "receipt" | "renewal_failed" | "trial_ending" | "subscription_canceled" | "refund";

export interface EmailAttachment {
  filename: string;
  content_type: string;
}

export interface Clock {
  now: string;
  mode: ClockMode;
  rate: number;
  lag: number;
  next_due_at: string | null;
  pending: number;
}

export type ClockMode = "running" | "frozen";

export interface ClockAdvance {
  from: string;
  now: string;
  jobs: number;
  events: Record<string, number>;
  deliveries: DeliveryCount;
  failures: Array<JobFailure>;
}

export interface DeliveryCount {
  succeeded: number;
  failed: number;
}

export interface JobFailure {
  job: string;
  kind: string;
  object: string | null;
  error: string;
}

export interface ScheduledJob {
  due_at: string;
  kind: string;
  object: string | null;
  summary: string;
  times?: number;
  object_ids?: Array<string>;
  event_types?: Array<EventType>;
}

export interface LedgerEntry {
  object: string;
  account: string;
  amount: number;
  currency: string;
  at: string;
  cause: LedgerCause;
}

export interface LedgerCause {
  id: string | null;
  summary: string;
}

export interface Outcome {
  id: string;
  object: "outcome";
  operation: OutcomeOperation;
  result: OutcomeResult;
  code: string | null;
  times: number;
  match: OutcomeMatch;
  created_at: string;
}

export type OutcomeOperation = "payment" | "refund" | "delivery";

export type OutcomeResult = "succeeded" | "failed";

export interface OutcomeMatch {
  customer: string | null;
  amount: number | null;
  payment_method_type: PaymentMethodType | null;
}

export interface Fault {
  id: string;
  object: "fault";
  match: FaultMatch;
  times: number | null;
  probability: number | null;
  then: FaultThen;
  starts_at: string | null;
  ends_at: string | null;
  created_at: string;
}

export interface FaultMatch {
  operation?: string;
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  path?: string;
  customer?: string;
  event?: EventType;
  webhook?: string;
  operator?: string;
  payment_method_type?: string;
  nth?: number;
}

export interface FaultThen {
  code?: string | NestedErrorCode;
  status?: number;
  body?: any;
  delay_ms?: number;
  executed?: true;
  hold_ms?: number;
  hang_ms?: number;
  drop?: "before" | "after";
  garble?: true;
  repeat?: true;
  page_size?: number;
  duplicate?: number;
  together?: true;
  delay?: string;
  reorder?: true;
  overlap?: true | string;
  lose?: true;
  tamper?: true;
  forge?: true;
  late_response?: true;
  again?: string;
  reissue?: true;
  outage?: "declined" | "silent";
  answer_after?: string;
  refused?: true;
  result?: "succeeded" | "failed";
  returns?: true;
  refund_after?: string;
  early_return?: true;
}

export type NestedErrorCode = "customer_email_exists" | "refund_amount_exceeds_available" | "transaction_not_refundable";

export interface Settings {
  main_currency: string;
  currencies: Array<string>;
  countries: Array<string>;
  pricing_plan: "starter" | "growth" | "business" | "enterprise";
  commission_rate: number;
  tax_rate: number;
  minimum_amount: number;
  maximum_amount: number;
  error_shape: "documented" | "flat" | "nested";
  unknown_fields: "reject" | "ignore";
  rate_limit: RateLimit | null;
  concurrency_limit: number | null;
  renewal_retry_days: Array<number>;
  reactivation_days: number;
  operator_delay: number;
  confirmation_timeout: number;
  mobile_money: "auto" | "handset";
  refund_timing: "documented" | "instant";
  refund_review: boolean;
  refund_expiry_days: number;
  webhook_http: "loopback" | "never" | "any";
  trusted_proxies: Array<string>;
  merchant: Merchant | null;
  assumptions: Assumptions;
}

export interface RateLimit {
  per_second: number;
  burst: number;
}

export interface Merchant {
  name?: string | null;
  address?: Array<string>;
  tax_number?: string | null;
  email?: string | null;
  phone?: string | null;
  logo?: string | null;
}

export interface Assumptions {
  search_nothing_found: "empty" | "error";
  metadata_values: "scalars" | "any";
  renewal_without_method: "invoice" | "fail";
  past_due_periods: "skipped" | "charged";
  success_url: "optional" | "required";
  anonymous_customer: "made" | "none";
  payment_received: "intent" | "transaction";
  webhook_success: "200" | "2xx";
  webhook_retry: "faults" | "all";
  cors_without_domains: "none" | "any";
  unknown_fields: "reject" | "ignore";
  error_shape: "documented" | "flat" | "nested";
  refund_timing: "documented" | "instant";
}

export interface CustomerCreate {
  email?: string;
  name?: string;
  phone?: string | null;
  metadata?: Record<string, string | number | boolean>;
}

export interface SubscriptionPlanCreate {
  name?: string;
  amount?: number;
  currency?: string;
  interval?: Interval;
  interval_count?: number;
  trial_period_days?: number;
  description?: string | null;
  metadata?: Record<string, string | number | boolean>;
}

export interface SubscriptionCreate {
  customer?: Ref;
  plan?: Ref;
  unit_amount?: number;
  currency?: string;
  interval?: Interval;
  interval_count?: number;
  product?: Ref;
  payment_method?: Ref;
  collection_method?: CollectionMethod;
  trial_period_days?: number;
  cancel_at_period_end?: boolean;
  ends_at?: string | null;
  metadata?: Record<string, string | number | boolean>;
}

export interface CheckoutSessionCreate {
  success_url?: string | null;
  cancel_url?: string | null;
  line_items?: Array<CheckoutLineInput>;
  currency?: string;
  mode?: CheckoutMode;
  customer?: Ref;
  customer_email?: string | null;
  payment_method_types?: Array<PaymentMethodType>;
  expires_in?: number;
  subscription_data?: SubscriptionData;
  metadata?: Record<string, string | number | boolean>;
}

export interface CheckoutLineInput {
  product?: string | null;
  plan?: string;
  description?: string;
  unit_amount?: number;
  quantity?: number;
}

export interface SubscriptionData {
  interval: Interval;
  interval_count?: number;
  trial_period_days?: number;
}

export interface InvoiceCreate {
  customer?: Ref;
  line_items?: Array<InvoiceLineInput>;
  currency?: string;
  due_date?: string | null;
  description?: string | null;
  footer?: string | null;
  metadata?: Record<string, string | number | boolean>;
}

export interface InvoiceLineInput {
  product?: string | null;
  description?: string;
  unit_amount?: number;
  quantity?: number;
}
