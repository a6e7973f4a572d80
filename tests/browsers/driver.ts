/** Operations on a browser that the story needs, whichever protocol drives it. */
export interface BrowserUnderTest {
  readonly name: 'chromium' | 'firefox' | 'webkit';
  readonly version: string;
  /** Opens an address. A failure on the way, such as no network, does not throw: the page shows it. */
  open(url: string): Promise<void>;
  /** The value of an expression in the page, or of its promise. */
  evaluate<Value>(expression: string): Promise<Value>;
  /** A real click in the middle of an element. @param selector - of CSS */
  click(selector: string): Promise<void>;
  type(selector: string, text: string): Promise<void>;
  back(): Promise<void>;
  forward(): Promise<void>;
  reload(): Promise<void>;
  picture(file: string): Promise<void>;
  close(): Promise<void>;
}

export interface BrowserSettings {
  /** Port on loopback of the proxy that it uses for everything. */
  readonly proxy: number;
  /** Folder for downloads. */
  readonly downloads: string;
  /** Makes every window private. A MiniBrowser that is driven has no others. */
  readonly isPrivate?: boolean;
  /** Turns service workers off. */
  readonly withoutWorkers?: boolean;
}

/** Waits for an action of which it does not matter whether it fails. */
export async function quietly(action: Promise<unknown>): Promise<void> {
  await action.catch(() => undefined);
}
