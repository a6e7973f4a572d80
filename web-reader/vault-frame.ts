/** The vault in a frame of a page on show, in which it hands over keys: nothing is seen of it, and nobody is asked for anything. */

/** Milliseconds after which a frame goes whose vault did not answer. */
const PATIENCE = 60_000;

/** Has a page open an address in a hidden frame. @returns the frame */
export function openBehind(address: string): HTMLIFrameElement {
  const frame = Object.assign(document.createElement('iframe'), { hidden: true, src: address });
  document.documentElement.append(frame);
  setTimeout(() => frame.remove(), PATIENCE);
  return frame;
}

/** Opens what the worker says, which is asked for keys that the page lacks. */
export function openAsTold(): void {
  const { serviceWorker: workers } = navigator;
  workers.addEventListener('message', ({ data }) => openBehind(data));
  workers.startMessages();
}
