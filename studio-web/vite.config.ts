import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// One script and one style sheet, under fixed names, into the Python package.
export default defineConfig({
  plugins: [react()],
  base: "/web/",
  build: {
    outDir: "../src/poolgrad/studio/web",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    license: { fileName: "licenses.md" },
    rollupOptions: {
      input: "src/main.tsx",
      // Notebooks import the same file and call what it exports.
      preserveEntrySignatures: "strict",
      output: {
        entryFileNames: "studio.js",
        assetFileNames: "studio[extname]",
        inlineDynamicImports: true,
      },
    },
  },
});
