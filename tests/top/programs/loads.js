// Makes a context with OpenSSL's default paths (--use-openssl-ca), says which library made it, and waits.
const tls = require("tls");

for (let count = Number(process.argv[2]); count > 0; count -= 1) tls.createSecureContext();
console.log(process.versions.openssl);
process.stdin.once("data", () => process.exit(0));
