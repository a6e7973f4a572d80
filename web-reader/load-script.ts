/** Loads a script of this origin into the page. @throws TypeError where it does not come, or is another one */
export function loadScript(script: { readonly src: string; readonly integrity: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    const onerror = () => reject(new TypeError(`${script.src} was not loaded`));
    document.head.append(
      Object.assign(document.createElement('script'), { ...script, onload: () => resolve(), onerror }),
    );
  });
}
