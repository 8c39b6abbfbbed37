// OpenSSL's functions by Deno's foreign function interface.
const types = { p: "pointer", s: "buffer", i: "i32", v: "void" };
const symbols = {};
for (const [name, signature] of Object.entries({
  TLS_client_method: "p", SSL_CTX_new: "pp", SSL_CTX_load_verify_locations: "ipsp", SSL_CTX_set_default_verify_paths: "ip",
  SSL_CTX_get_cert_store: "pp", SSL_load_client_CA_file: "ps", BIO_new_file: "pss", PEM_read_bio_X509: "ppppp", X509_STORE_new: "p",
  X509_STORE_free: "vp", X509_STORE_load_locations: "ipsp", X509_STORE_add_cert: "ipp", X509_STORE_get1_all_certs: "pp",
  X509_STORE_CTX_new: "p", X509_STORE_CTX_init: "ipppp", X509_verify_cert: "ip", X509_STORE_CTX_get_error: "ip", OPENSSL_sk_num: "ip",
  OPENSSL_sk_new_null: "p", OPENSSL_sk_push: "ipp" })) {
  symbols[name] = { result: types[signature[0]], parameters: [...signature.slice(1)].map((letter) => types[letter]) };
}
const f = Deno.dlopen("libssl.so.3", symbols).symbols;
const text = (string) => new TextEncoder().encode(string + "\0");
const pathOf = (name) => text(Deno.env.get("FIELD_" + name));
const certificate = (name) => f.PEM_read_bio_X509(f.BIO_new_file(pathOf(name), text("r")), null, null, null);
function verify(title, store, name) {
  const untrusted = f.OPENSSL_sk_new_null(), ctx = f.X509_STORE_CTX_new();
  f.OPENSSL_sk_push(untrusted, certificate("INTERMEDIATE"));
  const begun = f.X509_STORE_CTX_init(ctx, store, certificate(name), untrusted);
  console.log(title, begun, f.X509_verify_cert(ctx), f.X509_STORE_CTX_get_error(ctx));
}
function use(store) {
  verify("good", store, "CHAIN");
  verify("untrusted", store, "UNTRUSTED");
  console.log("add", f.X509_STORE_add_cert(store, certificate("TWIN")));
  verify("good again", store, "CHAIN");
  console.log("certificates", f.OPENSSL_sk_num(f.X509_STORE_get1_all_certs(store)));
}
for (const turn of [0, 1]) {
  const ctx = f.SSL_CTX_new(f.TLS_client_method());
  console.log("context", turn ? f.SSL_CTX_load_verify_locations(ctx, pathOf("BUNDLE"), null) : f.SSL_CTX_set_default_verify_paths(ctx));
  use(f.SSL_CTX_get_cert_store(ctx));
  const store = f.X509_STORE_new();
  if (turn)
    console.log("add", f.X509_STORE_add_cert(store, certificate("TWIN")));
  console.log("store", f.X509_STORE_load_locations(store, pathOf("BUNDLE"), null));
  use(store);
  f.X509_STORE_free(store);
}
console.log("names", f.OPENSSL_sk_num(f.SSL_load_client_CA_file(pathOf("BUNDLE"))));
