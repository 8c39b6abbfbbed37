// peer.js ca|default|agent MODE N ROOT LEAF: Node's tls. What it prints: bench/peers/README.md.
//
// Node has no call that verifies a chain, so a TLS 1.3 handshake in memory does it, of a client and a server.
'use strict';

const fs = require('fs');
const https = require('https');
const tls = require('tls');
const { Duplex } = require('stream');

const [kind, mode, count, , leaf] = process.argv.slice(2);
const key = fs.readFileSync(leaf.replace(/pem$/, 'key'));
const server = tls.createSecureContext({ cert: fs.readFileSync(leaf), key });

const makers = {
  ca: () => tls.createSecureContext({ ca: fs.readFileSync(process.env.SSL_CERT_FILE) }),
  // Node's own roots, and the one that NODE_EXTRA_CA_CERTS adds.
  default: () => tls.createSecureContext(),
  // An agent keeps the options and makes a context of them for each connection.
  agent: () => new https.Agent({ ca: bundle, maxCachedSessions: 0 }),
};
const bundle = kind === 'agent' ? fs.readFileSync(process.env.SSL_CERT_FILE) : null;
const agent = kind === 'agent' ? makers.agent() : null;

function pair() {
  const side = () => new Duplex({
    read() {},
    write(chunk, _, done) { this.other.push(chunk); done(); },
    final(done) { this.other.push(null); done(); },
  });
  const [one, two] = [side(), side()];
  one.other = two;
  two.other = one;
  return [one, two];
}

function handshake(secureContext) {
  return new Promise((resolve, reject) => {
    const [near, far] = pair();
    const answering = new tls.TLSSocket(far, { isServer: true, secureContext: server });
    const options = { socket: near, servername: 'localhost', ...(secureContext && { secureContext }) };
    const client = agent && !secureContext
      ? agent.createConnection({ ...agent.options, ...options }) : tls.connect(options);
    const end = (settle, value) => { client.destroy(); answering.destroy(); settle(value); };
    client.on('secureConnect', () => (client.authorized ? end(resolve) : end(reject, client.authorizationError)));
    client.on('error', (error) => end(reject, error));
    answering.on('error', () => {});
  });
}

async function turns(number, turn) {
  const before = process.cpuUsage();
  for (let i = 0; i < number; i++) {
    const waited = turn();
    if (waited instanceof Promise) await waited;
  }
  const used = process.cpuUsage(before);
  return (used.user + used.system) / 1e3 / number;
}

function residentKiB() {
  global.gc();
  global.gc();
  return Number(/Rss: *(\d+) kB/.exec(fs.readFileSync('/proc/self/smaps_rollup', 'utf8'))[1]);
}

async function main() {
  const make = makers[kind];
  const verified = () => handshake(agent ? null : make());
  if (mode === 'time') {
    const said = agent ? { first: await turns(1, verified) }
      : { first: await turns(1, make), next: await turns(+count, make) };
    said.verified = await turns(+count, verified);
    const shared = agent ? tls.createSecureContext({ ca: bundle }) : make();
    said.reused = await turns(+count, () => handshake(shared));
    console.log(JSON.stringify(said));
    return;
  }
  const kept = [];
  let before;
  for (let i = 0; i <= count; i++) {
    const context = agent ? tls.createSecureContext({ ca: bundle }) : make();
    await handshake(context);
    kept.push(context);
    if (i === 0) before = residentKiB();
  }
  console.log(JSON.stringify({ kib: (residentKiB() - before) / count }));
}

main().catch((error) => { console.error(error); process.exit(1); });
