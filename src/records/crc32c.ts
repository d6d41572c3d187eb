/** CRC-32C (Castagnoli): what iSCSI, ext4 and the CPUs' own crc32 instructions compute. */

/** The polynomial 0x1edc6f41, its bits in reverse order, as a CRC that shifts right wants it. */
export const CRC32C_POLYNOMIAL = 0x82f6_3b78;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
  return crc;
});

/** The CRC-32C of all bytes; of the nine characters `123456789` it is 0xe3069283. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0);
  return ~crc >>> 0;
}
