# OpenSSL's functions by Ruby's Fiddle.
require "fiddle/import"

module F
  extend Fiddle::Importer
  dlload "libssl.so.3"
  extern "void *TLS_client_method()"
  extern "void *SSL_CTX_new(void *)"
  extern "int SSL_CTX_load_verify_locations(void *, char *, char *)"
  extern "int SSL_CTX_set_default_verify_paths(void *)"
  extern "void *SSL_CTX_get_cert_store(void *)"
  extern "void *SSL_load_client_CA_file(char *)"
  extern "void *BIO_new_file(char *, char *)"
  extern "void *PEM_read_bio_X509(void *, void *, void *, void *)"
  extern "void *X509_STORE_new()"
  extern "void X509_STORE_free(void *)"
  extern "int X509_STORE_load_locations(void *, char *, char *)"
  extern "int X509_STORE_add_cert(void *, void *)"
  extern "void *X509_STORE_get1_all_certs(void *)"
  extern "void *X509_STORE_CTX_new()"
  extern "int X509_STORE_CTX_init(void *, void *, void *, void *)"
  extern "int X509_verify_cert(void *)"
  extern "int X509_STORE_CTX_get_error(void *)"
  extern "int OPENSSL_sk_num(void *)"
  extern "void *OPENSSL_sk_new_null()"
  extern "int OPENSSL_sk_push(void *, void *)"
end

def path_of(name) = ENV.fetch("FIELD_#{name}")
def certificate(name) = F.PEM_read_bio_X509(F.BIO_new_file(path_of(name), "r"), nil, nil, nil)

def verify(title, store, name)
  untrusted, ctx = F.OPENSSL_sk_new_null, F.X509_STORE_CTX_new
  F.OPENSSL_sk_push(untrusted, certificate("INTERMEDIATE"))
  begun = F.X509_STORE_CTX_init(ctx, store, certificate(name), untrusted)
  puts "#{title} #{begun} #{F.X509_verify_cert(ctx)} #{F.X509_STORE_CTX_get_error(ctx)}"
end

def use(store)
  verify("good", store, "CHAIN")
  verify("untrusted", store, "UNTRUSTED")
  puts "add #{F.X509_STORE_add_cert(store, certificate('TWIN'))}"
  verify("good again", store, "CHAIN")
  puts "certificates #{F.OPENSSL_sk_num(F.X509_STORE_get1_all_certs(store))}"
end

2.times do |turn|
  ctx = F.SSL_CTX_new(F.TLS_client_method)
  by_default = turn.zero?
  loaded = by_default ? F.SSL_CTX_set_default_verify_paths(ctx)
                      : F.SSL_CTX_load_verify_locations(ctx, path_of('BUNDLE'), nil)
  puts "context #{loaded}"
  use(F.SSL_CTX_get_cert_store(ctx))
  store = F.X509_STORE_new
  puts "add #{F.X509_STORE_add_cert(store, certificate('TWIN'))}" if turn == 1
  puts "store #{F.X509_STORE_load_locations(store, path_of('BUNDLE'), nil)}"
  use(store)
  F.X509_STORE_free(store)
end
puts "names #{F.OPENSSL_sk_num(F.SSL_load_client_CA_file(path_of('BUNDLE')))}"
