/** Loads a classic script. */
export const load = (src) =>
  new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.addEventListener('load', resolve);
    script.addEventListener('error', () => reject(new Error(`${src} is not there`)));
    script.src = src;
    document.head.append(script);
  });
