// Starts an example and ends it: PORT=0 lets the system choose, the start line tells the address.
import { spawn } from "node:child_process";

export async function start(program, port = 0) {
  const child = spawn(program, [], { env: { ...process.env, PORT: String(port) }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const address = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no start line: ${output}`)), 15_000);
    const read = (bytes) => {
      output += bytes;
      const found = output.match(/127\.0\.0\.1:(\d+)/);
      if (found) { clearTimeout(late); resolve({ port: Number(found[1]), host: found[0] }); }
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`ended with ${code}: ${output}`)));
  });
  const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal)));
  return {
    ...address,
    /** Sends a signal and tells the exit code (or the signal that ended it). */
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
      const code = await ended;
      clearTimeout(late);
      return code;
    },
  };
}
