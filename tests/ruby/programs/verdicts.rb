# frozen_string_literal: true

# verdicts.rb: what OpenSSL says with good and bad roots in every kind of store. The same with and without Windlass.
# FIRST says what is required first. On standard error: how often the library served.

require "windlass" if ENV["FIRST"] == "windlass"
require_relative "handshake"
require "windlass"
require "net/http"

bundle, other, root = ENV.values_at("SSL_CERT_FILE", "OTHER_BUNDLE", "ROOT")
whole = File.binread(bundle)

def say(what)
  puts "#{what}: #{yield.inspect}"
rescue StandardError => error
  puts "#{what}: #{error.class}: #{error.message}"
end

# The store's own verdict: result, error, depth and chain.
def verified(store)
  certificate = OpenSSL::X509::Certificate.new(CHAIN)
  [store.verify(certificate), store.error, store.error_string, store.chain&.map { |one| one.subject.to_s }]
end

# A file is replaced as update-ca-certificates does it.
def replace(path, content)
  File.binwrite("#{path}.new", content)
  File.rename("#{path}.new", path)
end

def look(name, bundle)
  say("#{name}: default store") { verdict(client) }
  say("#{name}: its own default paths") { verdict(client(default_store)) }
  say("#{name}: default paths, wrong name") { verdict(client(default_store), "other.example") }
  say("#{name}: add_file") { verdict(client(file_store(bundle))) }
  say("#{name}: Store#verify") { verified(default_store) }
  say("#{name}: ca_file") { verdict(OpenSSL::SSL::SSLContext.new.tap { |it| it.set_params(ca_file: bundle) }) }
end

# A certificate without extensions, signed by `issuer`, or by itself.
def certificate(name, key, issuer = nil, issuer_key = key)
  made = OpenSSL::X509::Certificate.new
  made.version, made.serial, made.public_key = 2, 1, key
  made.subject = OpenSSL::X509::Name.parse(name)
  made.issuer = issuer ? issuer.subject : made.subject
  made.not_before, made.not_after = Time.now - 3600, Time.now + 86_400
  extensions = OpenSSL::X509::ExtensionFactory.new
  made.add_extension(extensions.create_extension("basicConstraints", "CA:TRUE", true)) unless issuer
  made.sign(issuer_key, OpenSSL::Digest.new("SHA256"))
end

# Two roots of one name, one of which issued the leaf: their order decides.
keys = Array.new(3) { OpenSSL::PKey::EC.generate("prime256v1") }
twins = keys.first(2).map { |key| certificate("/CN=Twin", key) }
twin_leaf = certificate("/CN=leaf", keys[2], twins[1], keys[1])
[twins, twins.reverse].each do |pair|
  path = "#{bundle}.twins"
  File.write(path, pair.map(&:to_pem).join)
  say("two roots of one name") do
    store = file_store(path)
    [store.verify(twin_leaf), store.error_string, store.chain&.map { |one| twins.index(one) }]
  end
end

look("good", bundle)
say("other root") { verdict(client(file_store(other))) }
say("root by hand") do
  store = file_store(other)
  store.add_cert(OpenSSL::X509::Certificate.new(File.read(root)))
  [verdict(client(store)), verified(store)]
end
say("twice") { verified(default_store.tap { |it| 2.times { it.add_file(bundle) } }) }
say("empty store") { verified(OpenSSL::X509::Store.new) }
say("purpose") { verified(default_store.tap { |it| it.purpose = OpenSSL::X509::PURPOSE_SSL_SERVER }) }
say("time") { verified(default_store.tap { |it| it.time = Time.now + 400 * 86_400 }) }
say("CRL wanted") { verified(default_store.tap { |it| it.flags = OpenSSL::X509::V_FLAG_CRL_CHECK }) }
kept = client(default_store)

replace(bundle, File.binread(other))
look("root removed", bundle)
say("made before it was removed") { verdict(kept) }
replace(bundle, whole)
look("root back", bundle)
# In place, one character of the root's certificate.
broken = whole.dup
at = broken.rindex("-----BEGIN CERT") + 200
broken[at] = broken[at] == "A" ? "B" : "A"
File.binwrite(bundle, broken)
look("root broken", bundle)
File.binwrite(bundle, "no certificate\n")
look("no certificate", bundle)
File.unlink(bundle)
look("no file", bundle)
warn served
