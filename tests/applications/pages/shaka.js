import shaka from 'shaka-player';
import { player, watch } from './film.js';

export default async (main) => {
  const video = player(main);
  const shown = new shaka.Player();
  await shown.attach(video);
  await shown.load('/media/dash/film.mpd');
  return watch(video);
};
