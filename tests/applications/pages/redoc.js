import { load } from './script.js';

export default async (main) => {
  await load('/vendor/redoc/redoc.standalone.js');
  await new Promise((resolve, reject) =>
    window.Redoc.init('/data/openapi.json', {}, main, (error) => (error ? reject(error) : resolve())));
  return main.querySelectorAll('[data-section-id]').length;
};
