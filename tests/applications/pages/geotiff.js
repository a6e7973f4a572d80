import { fromUrl } from 'geotiff';

export default async () => {
  const image = await (await fromUrl('/data/picture.tif', { allowFullFile: false })).getImage();
  const [red] = await image.readRasters({ window: [700, 700, 702, 702] });
  return [image.getWidth(), [...red]];
};
