export default { site: 'https://news.example' };
