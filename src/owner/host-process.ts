/** Starts die hosts as child processes. */
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";

import { invariant, type Log } from "../base/mod.ts";
import type { HostLauncher, HostTransport } from "./host-link.ts";

/** The file descriptor of a die host's end of the socket. */
export const HOST_SOCKET_FD = 3;

/**
 * A launcher for `command` (program and arguments). The host gets one socket, as descriptor
 * HOST_SOCKET_FD; what it writes to stderr, such as a driver's last words, goes to the log.
 */
export function createHostLauncher(options: {
  readonly command: readonly [string, ...string[]];
  readonly log: Log;
}): HostLauncher {
  return () => launchHost(options.command, options.log);
}

function launchHost(command: readonly [string, ...string[]], log: Log): HostTransport {
  const [program, ...args] = command;
  // A session of its own: a Ctrl-C at the terminal is for the owner, which knows what to do with it.
  const child = spawn(program, args, {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    detached: true,
  });
  const socket = child.stdio[HOST_SOCKET_FD] as Socket | null | undefined;
  const errors = child.stderr;
  invariant(socket instanceof Object && errors !== null, "a die host has a socket and a stderr");
  const pid = child.pid ?? null;
  createInterface({ input: errors }).on("line", (line) => {
    log(`die host ${String(pid)}: ${line}`);
  });
  // Writing to a host that has just died fails here first; its death is told by `onEnd`.
  socket.on("error", () => undefined);
  return {
    pid,
    write: (frame) => void socket.write(frame),
    onData: (listener) => void socket.on("data", listener),
    onEnd: (listener) => {
      child.once("error", (error) => listener(`did not start: ${error.message}`));
      // `close` and not `exit`: what the host said before it ended is read first.
      child.once("close", (code, signal) => {
        listener(signal === null ? `ended with code ${String(code)}` : `was killed by ${signal}`);
      });
    },
    kill: () => void child.kill("SIGKILL"),
  };
}
