import { V86 } from '/vendor/v86/libv86.mjs';

/** The boot sector writes to the serial line what the last sector of its disk says. */
export default () =>
  new Promise((resolve) => {
    const machine = new V86({
      wasm_path: '/vendor/v86/v86.wasm',
      bios: { url: '/vendor/seabios/bios.bin' },
      vga_bios: { url: '/vendor/seabios/vgabios-stdvga.bin' },
      hda: { url: '/data/disk.img', async: true, size: 64 * 1024 * 1024 },
      memory_size: 32 * 1024 * 1024,
      vga_memory_size: 2 * 1024 * 1024,
      disable_speaker: true,
      autostart: true,
    });
    let said = '';
    machine.add_listener('serial0-output-byte', (byte) => {
      said += String.fromCharCode(byte);
      if (said.endsWith('\n')) resolve(said);
    });
  });
