/** Plays, jumps to a second before the end, and says what the player knows. */
export async function watch(video) {
  const next = (event) => new Promise((resolve, reject) => {
    video.addEventListener(event, resolve, { once: true });
    video.addEventListener('error', () => reject(new Error(video.error?.message)), { once: true });
  });
  if (video.readyState < 1) await next('loadedmetadata');
  await video.play();
  while (video.currentTime < 0.2) await next('timeupdate');
  video.currentTime = video.duration - 1;
  await next('seeked');
  video.pause();
  return [video.duration.toFixed(1), video.videoWidth ?? 0, video.currentTime.toFixed(1)];
}

export function player(main, tag = 'video') {
  const element = main.appendChild(document.createElement(tag));
  element.muted = true;
  return element;
}
