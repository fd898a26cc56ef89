// The engine in workers: the newest question counts.
//
// A question that is no longer wanted gets a grace time; if it is not answered by then its worker is ended and a warm
// one takes its place. With `ephor play` the native engine answers instead, and requests are aborted.

/** So long an unwanted question may run on, in milliseconds. */
const GRACE = 300;

export interface Transport {
  /** Asks; the promise is rejected when the question is given up. */
  ask(question: string): Promise<string>;
  /** Gives up what is running. */
  cancel(): void;
}

interface Slot { worker: Worker; ready: Promise<void> }

/** Workers with the module, which is compiled once. */
export class Workers implements Transport {
  private current: Slot;
  private spare: Slot;
  private stop: ((why: Error) => void) | null = null;
  /** How many workers were ended, for tests. */
  ended = 0;

  constructor(private readonly module: Promise<WebAssembly.Module>, private readonly url: string) {
    this.current = this.spawn();
    this.spare = this.spawn();
  }

  private spawn(): Slot {
    const worker = new Worker(this.url, { type: "module" });
    const ready = this.module.then(
      (module) =>
        new Promise<void>((resolve, reject) => {
          worker.onmessage = () => resolve();
          worker.onerror = (event) => reject(new Error(event.message || "the engine does not start"));
          worker.postMessage({ module });
        }),
    );
    ready.catch(() => undefined);
    return { worker, ready };
  }

  async ask(question: string): Promise<string> {
    const slot = this.current;
    await slot.ready;
    return new Promise<string>((resolve, reject) => {
      const end = () => { this.stop = null; };
      this.stop = (why) => { end(); reject(why); };
      slot.worker.onmessage = (event: MessageEvent<{ answer?: string; trap?: string }>) => {
        end();
        if (event.data.answer !== undefined) return resolve(event.data.answer);
        // A module that trapped is not used again.
        this.replace();
        resolve(JSON.stringify({ error: { text: event.data.trap ?? "the engine stopped" } }));
      };
      slot.worker.postMessage({ question });
    });
  }

  cancel(): void {
    const stop = this.stop;
    if (!stop) return;
    this.replace();
    stop(new Error("given up"));
  }

  private replace(): void {
    this.current.worker.terminate();
    this.ended += 1;
    this.current = this.spare;
    this.spare = this.spawn();
  }
}

/** The native engine of `ephor play`. */
export class Native implements Transport {
  private controller: AbortController | null = null;

  constructor(private readonly url: string) {}

  async ask(question: string): Promise<string> {
    this.controller = new AbortController();
    const response = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: question,
      signal: this.controller.signal,
    });
    if (!response.ok) return JSON.stringify({ error: { text: `${response.status}: ${await response.text()}` } });
    return response.text();
  }

  cancel(): void {
    this.controller?.abort();
  }
}

export interface Asked { name: string; question: () => object }

/** Asks the newest list of questions one by one; older ones are given up. */
export class Engine {
  private wanted: { asked: Asked[]; revision: number } | null = null;
  private revision = 0;
  private isRunning = false;
  private grace: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly transport: Transport,
    private readonly onAnswer: (name: string, answer: unknown, milliseconds: number) => void,
    private readonly onState: (isRunning: boolean) => void,
  ) {}

  ask(asked: Asked[]): void {
    this.revision += 1;
    this.wanted = { asked, revision: this.revision };
    if (this.isRunning) {
      this.grace ??= setTimeout(() => this.transport.cancel(), GRACE);
      return;
    }
    void this.run();
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    this.onState(true);
    while (this.wanted) {
      const { asked, revision } = this.wanted;
      this.wanted = null;
      for (const one of asked) {
        const start = performance.now();
        let text: string;
        try {
          text = await this.transport.ask(JSON.stringify(one.question()));
        } catch (error) {
          if (revision !== this.revision) break;
          text = JSON.stringify({ error: { text: error instanceof Error ? error.message : String(error) } });
        }
        if (revision !== this.revision) break;
        this.onAnswer(one.name, JSON.parse(text), performance.now() - start);
      }
      if (this.grace) clearTimeout(this.grace);
      this.grace = null;
    }
    this.isRunning = false;
    this.onState(false);
  }
}
