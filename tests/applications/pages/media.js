import { player, watch } from './film.js';

export default async (main) => {
  const [video, audio] = [player(main), player(main, 'audio')];
  const track = video.appendChild(document.createElement('track'));
  Object.assign(track, { kind: 'subtitles', src: '/media/film.vtt', default: true });
  const read = new Promise((resolve) => track.addEventListener('load', () => resolve(track.track.cues[0].text)));
  video.src = '/media/film.mp4';
  const film = await watch(video);
  audio.src = '/media/tone.wav';
  return [film, await read, await watch(audio)];
};
