// SPDX-License-Identifier: Apache-2.0
// Programs as the system has them, under load, recorded by the command line.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";

const kSchemas = fileURLToPath(new URL("../export", import.meta.url));
export const kPython = "/usr/bin/python3";

// Parses, sorts and hashes for some seconds, in functions of its own and of the interpreter.
export const kBusyScript = `
import hashlib, json, time
def parse(text):
    return json.loads(text)
def digest(values):
    return hashlib.sha256(repr(sorted(values, key=str)).encode()).hexdigest()
text = json.dumps([{"number": i, "name": str(i) * 5} for i in range(20000)])
end = time.monotonic() + SECONDS
while time.monotonic() < end:
    digest(item["name"] for item in parse(text))
    time.sleep(0.001)
`;

const lagwatch = () => join(process.env.LAGWATCH_BIN, "lagwatch");

export function run(...command) {
  return execFileSync(command[0], command.slice(1), { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

// A program in the background; `ended` is { code, errors }.
function start(command) {
  const child = spawn(command[0], command.slice(1), { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (data) => (errors += data));
  return { pid: child.pid, ended: once(child, "close").then(([code]) => ({ code, errors })) };
}

// A redis-server of its own, started behind `command`: what records it, or nothing.
export async function startRedis(directory, command = []) {
  const port = await freePort();
  const options = ["--port", `${port}`, "--save", "", "--dir", directory, "--bind", "127.0.0.1"];
  const program = start([...command, "redis-server", ...options]);
  const ask = (...question) => run("redis-cli", "-p", `${port}`, ...question);
  for (let left = 300; ; --left) {
    try {
      if (ask("ping").trim() === "PONG") break;
    } catch {
      assert.ok(left > 0, "redis-server does not answer");
    }
    await pause(100);
  }
  return {
    ended: program.ended,
    pid: Number(/process_id:(\d+)/.exec(ask("info", "server"))[1]),
    load: (requests) =>
      run("redis-benchmark", "-p", `${port}`, "-q", "-n", `${requests}`, "-t", "set,get,lpush,lrange_100"),
    stop: () => start(["redis-cli", "-p", `${port}`, "shutdown", "nosave"]).ended,
  };
}

export async function recordRedis(directory) {
  const file = join(directory, "redis.lwtrace");
  const redis = await startRedis(directory, [lagwatch(), "trace", "record", "-o", file, "--"]);
  redis.load(20_000);
  await redis.stop();
  const { code, errors } = await redis.ended;
  assert.equal(code, 0, errors);
  return file;
}

export async function recordPython(directory) {
  const file = join(directory, "python.lwtrace");
  const script = join(directory, "busy.py");
  writeFileSync(script, kBusyScript.replace("SECONDS", "3"));
  const { code, errors } = await start([lagwatch(), "trace", "record", "-o", file, "--", kPython, script])
    .ended;
  assert.equal(code, 0, errors);
  return file;
}

export function convert(file, format, suffix) {
  const output = file.replace(/\.lwtrace$/, suffix);
  run(lagwatch(), "trace", "convert", file, "--to", format, "-o", output);
  return output;
}

// As text, by a schema that knows nothing of our code; no field may be unknown to it.
export function decode(file, schema, message) {
  const unpack = file.endsWith(".gz") ? "gzip -dc" : "cat";
  const script = `${unpack} '${file}' | protoc --decode=${message} -I '${kSchemas}' ${schema}`;
  const text = execFileSync("bash", ["-euo", "pipefail", "-c", script], {
    encoding: "utf8",
    maxBuffer: 1 << 30,
  });
  const unknown = /^\s*\d+[:\s{].*/m.exec(text);
  assert.equal(unknown, null, `${file}: ${unknown}`);
  return text;
}
