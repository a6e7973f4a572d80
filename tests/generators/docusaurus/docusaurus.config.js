module.exports = {
  title: 'Harbour notes',
  url: 'https://news.example',
  baseUrl: '/',
  stylesheets: ['/site.css'],
  scripts: [{ src: '/site.js', defer: true }],
  presets: [['classic', { docs: { routeBasePath: '/' }, blog: false, pages: false, sitemap: false }]],
};
