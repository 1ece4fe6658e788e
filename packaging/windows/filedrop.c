/* filedrop.exe: Python's runtime lies beside it and runs filedrop, so that the process has our name, version and manifest.
 *
 * `filedrop.exe -m MODULE ...` runs another module, as python.exe would: filedrop starts its own children so. */
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

typedef int (*py_main)(int, wchar_t **);

int wmain(int argc, wchar_t **argv)
{
    /* Only from our own folder and the system's: what lies in the current one is a stranger's. */
    SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    HMODULE runtime = LoadLibraryW(RUNTIME);
    py_main run = runtime ? (py_main)(void *)GetProcAddress(runtime, "Py_Main") : NULL;
    if (!run) {
        fprintf(stderr, "filedrop.exe: %ls, which belongs beside it, can't be used (error %lu): install filedrop again\n",
                RUNTIME, GetLastError());
        return 1;
    }
    int is_other = argc > 2 && wcscmp(argv[1], L"-m") == 0, count = 0;
    wchar_t **words = calloc(argc + 5, sizeof *words);
    if (!words)
        return 1;
    words[count++] = argv[0];
    words[count++] = L"-X";
    words[count++] = L"utf8"; /* what is printed into a pipe, as on Linux */
    if (!is_other) {
        words[count++] = L"-m";
        words[count++] = L"filedrop";
    }
    for (int index = 1; index < argc; index++)
        words[count++] = argv[index];
    return run(count, words);
}
