// SPDX-License-Identifier: Apache-2.0
// A real collector on a data directory of its own, and programs that it hears from.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const bin = process.env.LAGWATCH_BIN;
if (!bin) throw new Error("LAGWATCH_BIN must name the folder of the built programs");

export const program = (name) => join(bin, name);

// The helper of a program that has just ended may still write to its spool for a moment.
function remove(directory) {
  return until("the directory to be empty", () => {
    try {
      rmSync(directory, { recursive: true, force: true });
      return true;
    } catch (error) {
      if (error.code !== "ENOTEMPTY") throw error;
      return false;
    }
  });
}

// Ends with its signal, and takes its directory along.
async function stop(child, directory) {
  const gone = child.exitCode === null ? new Promise((done) => child.once("exit", done)) : null;
  child.kill();
  await gone;
  await remove(directory);
}

export async function until(what, condition, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`gave up waiting for ${what}`);
    await new Promise((resume) => setTimeout(resume, 50));
  }
}

// This program's environment is not passed on: a demo has a key, for example.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("LAGWATCH_")));

// `seeds`: what of seed_store the store begins with, as [what, ...more].
export const startCollector = (...seeds) => startCollectorWith([], ...seeds);

// The same with more flags.
export async function startCollectorWith(flags, ...seeds) {
  const directory = mkdtempSync(join(tmpdir(), "lagwatch-page-"));
  const data = join(directory, "data");
  for (const seed of seeds) execFileSync(program("seed_store"), [data, ...[seed].flat().map(String)]);
  const child = spawn(program("lagwatch-collector"), ["--listen", "127.0.0.1:0", "--data", data, ...flags], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  let errors = "";
  child.stdout.on("data", (text) => (said += text));
  child.stderr.on("data", (text) => (errors += text));
  const url = await until("the collector", () => {
    if (child.exitCode !== null) throw new Error(`the collector ended: ${errors}`);
    return /listening on (\S+)/.exec(said)?.[1];
  });
  const token = readFileSync(join(data, "admin-token"), "utf8").trim();
  const ask = async (path, init = {}) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(init.body ? { "Content-Type": "application/json" } : {}),
    };
    const answer = await fetch(url + path, { ...init, headers });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  return {
    url,
    token,
    key: readFileSync(join(data, "key"), "utf8").trim(),
    configKey: () =>
      execFileSync(program("lagwatch-collector"), ["--data", data, "--print-public-key"], {
        env,
        encoding: "utf8",
      }).trim(),
    ask,
    stop: () => stop(child, directory),
  };
}

// Debian's redis under `lagwatch run`; freeze() stops its loop for so many seconds.
export async function startRedis(collector, { user, flags = [] }) {
  const directory = mkdtempSync(join(tmpdir(), "lagwatch-redis-"));
  const socket = join(directory, "redis.sock");
  const spool = join(directory, "spool");
  const options = [
    "--endpoint",
    collector.url,
    "--key",
    collector.key,
    "--user",
    user,
    "--spool",
    spool,
    "--threshold-ms",
    "500",
    ...flags,
  ];
  const redis = [
    "redis-server",
    "--port",
    "0",
    "--unixsocket",
    socket,
    "--save",
    "",
    "--enable-debug-command",
    "local",
    "--dir",
    directory,
  ];
  const child = spawn(program("lagwatch"), ["run", "--app-version", "7.0", ...options, "--", ...redis], {
    env,
    stdio: "ignore",
  });
  const ask = (...words) => execFileSync("redis-cli", ["-s", socket, ...words], { stdio: "pipe" }).toString();
  await until("redis", () => {
    try {
      return ask("ping").startsWith("PONG");
    } catch {
      return false;
    }
  });
  return {
    spool,
    freeze: (seconds) => ask("debug", "sleep", String(seconds)),
    stop: () => stop(child, directory),
  };
}
