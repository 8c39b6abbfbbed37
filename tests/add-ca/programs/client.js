// client.js URL: what the server sends.
require("https").get(process.argv[2], { agent: false }, (answer) => answer.pipe(process.stdout)).on("error", (error) => {
  console.error(error.code);
  process.exitCode = 1;
});
