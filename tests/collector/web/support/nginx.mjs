// SPDX-License-Identifier: Apache-2.0
// A real nginx in front of a collector, with the configuration that operators get.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./collector.mjs";

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

// The collector below /lagwatch.
export async function startNginx(collector) {
  const directory = mkdtempSync(join(tmpdir(), "lagwatch-nginx-"));
  const port = await freePort();
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${join(directory, name)};`)
    .join("\n  ");
  const file = join(directory, "nginx.conf");
  writeFileSync(
    file,
    `${process.getuid() === 0 ? "user root;" : ""}
daemon off;
pid ${join(directory, "pid")};
error_log stderr;
events {}
http {
  access_log off;
  ${paths}
  upstream lagwatch { server ${new URL(collector.url).host}; keepalive 16; }
  server {
    listen 127.0.0.1:${port};
    include ${process.env.NGINX_CONF};
  }
}
`,
  );
  const child = spawn(process.env.NGINX ?? "nginx", ["-p", directory, "-e", "stderr", "-c", file], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (text) => (errors += text));
  const url = `http://127.0.0.1:${port}/lagwatch`;
  await until("nginx", async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${errors}`);
    return fetch(`${url}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    );
  });
  return {
    ...collector,
    url,
    stop: async () => {
      const gone = new Promise((done) => child.once("exit", done));
      child.kill();
      await gone;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
