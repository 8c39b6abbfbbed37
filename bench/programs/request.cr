# request URL N: HTTPS GETs, each on a connection of its own; alternating: with a fresh context, with one that is reused,
# and with a fresh one that loads no CAs, because it is given the reused one's store. ns, as JSON.
require "http/client"
require "json"

lib LibSSL
  fun ssl_ctx_get_cert_store = SSL_CTX_get_cert_store(ctx : SSLContext) : Void*
  fun ssl_ctx_set1_cert_store = SSL_CTX_set1_cert_store(ctx : SSLContext, store : Void*) : Void
end

alias TLS = OpenSSL::SSL::Context::Client

def request(url, context)
  HTTP::Client.new(url, context) { |client| raise "unexpected answer" unless client.get("/").status_code == 200 }
end

# What TLS.new does, but for set_default_verify_paths.
def sharing(kept)
  context = TLS.insecure
  context.add_options(OpenSSL::SSL::Options.flags(ALL, NO_SSL_V2, NO_SSL_V3, NO_TLS_V1, NO_TLS_V1_1))
  context.add_modes(OpenSSL::SSL::Modes.flags(AUTO_RETRY, RELEASE_BUFFERS))
  context.verify_mode = OpenSSL::SSL::VerifyMode::PEER
  context.ciphers = TLS::CIPHERS_OLD
  LibSSL.ssl_ctx_set1_cert_store(context.to_unsafe, LibSSL.ssl_ctx_get_cert_store(kept.to_unsafe))
  context
end

url, count = URI.parse(ARGV[0]), ARGV[1].to_i
kept = TLS.new
samples = {fresh: [] of Int64, reused: [] of Int64, sharing: [] of Int64}
(count + 3).times do |turn|
  times = [Time.monotonic]
  request(url, TLS.new)
  times << Time.monotonic
  request(url, kept)
  times << Time.monotonic
  request(url, sharing(kept))
  times << Time.monotonic
  next if turn < 3
  samples[:fresh] << (times[1] - times[0]).total_nanoseconds.to_i64
  samples[:reused] << (times[2] - times[1]).total_nanoseconds.to_i64
  samples[:sharing] << (times[3] - times[2]).total_nanoseconds.to_i64
end
puts samples.to_json
