import L from 'leaflet';

export default async (main) => {
  main.style.cssText = 'width: 512px; height: 512px';
  const layer = L.tileLayer('/tiles/{z}/{x}/{y}.png', { maxZoom: 3 });
  const loaded = new Promise((resolve) => layer.on('load', resolve));
  layer.addTo(L.map(main, { center: [0, 0], zoom: 3 }));
  await loaded;
  const tiles = [...main.querySelectorAll('.leaflet-tile')];
  return [tiles.length, tiles.filter(({ naturalWidth }) => naturalWidth === 256).length];
};
