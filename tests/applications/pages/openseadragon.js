import OpenSeadragon from 'openseadragon';

export default async (main) => {
  main.style.cssText = 'width: 1000px; height: 1000px';
  const viewer = OpenSeadragon({ element: main, tileSources: '/data/picture.dzi', showNavigationControl: false, drawer: 'canvas' });
  const tiles = new Set();
  viewer.addHandler('tile-loaded', ({ tile }) => tiles.add(`${tile.level}/${tile.x}/${tile.y}`));
  await new Promise((resolve, reject) => {
    viewer.addHandler('open-failed', ({ message }) => reject(new Error(message)));
    viewer.addHandler('open', () => {
      viewer.viewport.zoomTo(2, undefined, true);
      viewer.world.getItemAt(0).addHandler('fully-loaded-change', ({ fullyLoaded }) => fullyLoaded && resolve());
    });
  });
  return [viewer.world.getItemAt(0).getContentSize().x, tiles.size > 4];
};
