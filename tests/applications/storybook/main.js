export default {
  stories: ['./*.stories.js'],
  framework: '@storybook/html-vite',
  core: { disableTelemetry: true, disableWhatsNewNotifications: true },
};
