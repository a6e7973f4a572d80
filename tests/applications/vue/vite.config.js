import { VitePWA } from 'vite-plugin-pwa';

export default ({ mode }) => ({ plugins: mode === 'pwa' ? [VitePWA({ registerType: 'autoUpdate', injectRegister: 'script' })] : [] });
