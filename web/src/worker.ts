// A worker with the engine: gets the compiled module first, then questions.

import { answer, initSync } from "page-engine";

type Message = { module: WebAssembly.Module } | { question: string };

self.onmessage = (event: MessageEvent<Message>) => {
  const message = event.data;
  try {
    if ("module" in message) {
      initSync({ module: message.module });
      self.postMessage({ ready: true });
    } else {
      self.postMessage({ answer: answer(message.question) });
    }
  } catch (error) {
    const isDeep = error instanceof RangeError;
    const trap = isDeep ? "the texts are nested too deeply for this browser" : `the engine stopped: ${String(error)}`;
    self.postMessage({ trap });
  }
};
