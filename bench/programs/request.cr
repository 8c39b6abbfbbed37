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
  # Each kind comes before each other as often as after it: what a request leaves behind in caches is the next one's.
  kinds = turn.even? ? {:fresh, :reused, :sharing} : {:sharing, :reused, :fresh}
  kinds.each do |kind|
    begun = Time.monotonic
    case kind
    when :fresh  then request(url, TLS.new)
    when :reused then request(url, kept)
    else              request(url, sharing(kept))
    end
    taken = Time.monotonic - begun
    samples[kind] << taken.total_nanoseconds.to_i64 if turn >= 3
  end
end
puts samples.to_json
