import { defineConfig } from 'vitepress';

export default defineConfig({
  title: 'Harbour notes',
  head: [
    ['link', { rel: 'stylesheet', href: '/site.css' }],
    ['script', { src: '/site.js', defer: '' }],
  ],
  transformHead: ({ pageData: { frontmatter } }) =>
    frontmatter.set ? [['meta', { name: 'wispr-set', content: frontmatter.set }]] : [],
});
