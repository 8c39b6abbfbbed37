// client.deno.js URL: what the server sends.
const answer = await fetch(Deno.args[0]);
console.log(await answer.text());
