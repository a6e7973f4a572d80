import * as maplibregl from 'maplibre-gl';
import { Protocol } from 'pmtiles';

export default async (main) => {
  maplibregl.setWorkerUrl('/vendor/maplibre-gl/maplibre-gl-worker.mjs');
  maplibregl.addProtocol('pmtiles', new Protocol().tile);
  main.style.cssText = 'width: 512px; height: 512px';
  const style = {
    version: 8,
    sources: { tiles: { type: 'raster', url: `pmtiles://${location.origin}/data/tiles.pmtiles`, tileSize: 256 } },
    layers: [{ id: 'tiles', type: 'raster', source: 'tiles' }],
  };
  const map = new maplibregl.Map({ container: main, style, zoom: 2, fadeDuration: 0, canvasContextAttributes: { preserveDrawingBuffer: true } });
  await new Promise((resolve, reject) => map.once('idle', resolve).on('error', ({ error }) => reject(error)));
  const gl = map.getCanvas().getContext('webgl2');
  const pixel = new Uint8Array(4);
  gl.readPixels(256, 256, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  return [...pixel];
};
