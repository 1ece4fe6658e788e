; The installer: files, the list of installed programs, the uninstaller. What is done with services, and with the path on
; which commands are found, is filedrop's own: installation.py. `build` gives all that is named and not defined here.
Target amd64-unicode
!include LogicLib.nsh
!include WinVer.nsh
!include WinMessages.nsh

Name "filedrop ${VERSION}"
OutFile "${TARGET}"
InstallDir "$PROGRAMFILES64\filedrop"
RequestExecutionLevel admin
SetCompressor /SOLID ${COMPRESSION}
ShowInstDetails show
ShowUninstDetails show
VIProductVersion ${NUMBERS}
VIAddVersionKey ProductName "filedrop"
VIAddVersionKey ProductVersion "${VERSION}"
VIAddVersionKey FileVersion "${VERSION}"
VIAddVersionKey FileDescription "Installs filedrop"
VIAddVersionKey LegalCopyright ""
!define PROGRAMS "Software\Microsoft\Windows\CurrentVersion\Uninstall\filedrop"

Page directory
Page instfiles
UninstPage uninstConfirm
UninstPage instfiles

Var status

; Runs installation.py; it writes down what it says, and bounds each of its steps. $status is how it ended, or a word.
!macro installation verb
    nsExec::ExecToLog '"$INSTDIR\filedrop.exe" -m installation ${verb}'
    Pop $status
!macroend

; 1 is the exit status of whatever failed; whoever hears of nothing (/S) finds the sentence in install.log.
!macro failed sentence
    SetShellVarContext all ; $APPDATA is C:\ProgramData then
    FileOpen $9 "$APPDATA\filedrop\install.log" a
    FileSeek $9 0 END
    FileWrite $9 "${sentence}$\r$\n"
    FileClose $9
    SetErrorLevel 1
    MessageBox MB_ICONSTOP "${sentence}" /SD IDOK
    Abort "${sentence}"
!macroend

; Stops all services, and waits until no program of filedrop's runs; else it fails, and what was stopped runs on.
!macro halt done
    !insertmacro installation "halt"
    ${If} $status != 0
        !insertmacro installation "resume"
        !insertmacro failed "A running filedrop can't be stopped, so nothing was ${done}. Stop it, and try again. If none is running, delete $INSTDIR first."
    ${EndIf}
    ; Windows lets nobody write to a program that runs; one that was stopped needs a moment to be gone.
    StrCpy $1 0
    ${Do}
        ClearErrors
        FileOpen $0 "$INSTDIR\filedrop.exe" a
        ${IfNot} ${Errors}
            FileClose $0
            ${ExitDo}
        ${EndIf}
        ${If} $1 == 20
            !insertmacro installation "resume"
            !insertmacro failed "filedrop.exe is still running, so nothing was ${done}. End it, and try again."
        ${EndIf}
        Sleep 500
        IntOp $1 $1 + 1
    ${Loop}
!macroend

Function .onInit
    ${IfNot} ${AtLeastWin10}
        SetErrorLevel 1
        MessageBox MB_ICONSTOP "filedrop needs Windows 10, Server 2016 or later, so nothing was installed." /SD IDOK
        Abort
    ${EndIf}
    ; An upgrade goes where the one before went, unless /D= says otherwise.
    ReadRegStr $0 HKLM "${PROGRAMS}" InstallLocation
    ${If} $0 != ""
    ${AndIf} $INSTDIR == "$PROGRAMFILES64\filedrop"
        StrCpy $INSTDIR $0
    ${EndIf}
FunctionEnd

Section
    ${If} ${FileExists} "$INSTDIR\filedrop.exe"
        !insertmacro halt "replaced"
        RMDir /r "$INSTDIR\Lib" ; also what a newer version lacks
        RMDir /r "$INSTDIR\DLLs"
    ${EndIf}
    SetOutPath "$INSTDIR"
    SetOverwrite try
    ClearErrors
    File /r "${STAGE}/*"
    ${If} ${Errors}
        !insertmacro failed "$INSTDIR can't be written. Check its rights and the free space on its disk, and try again."
    ${EndIf}
    WriteUninstaller "$INSTDIR\uninstall.exe"
    WriteRegStr HKLM "${PROGRAMS}" DisplayName "filedrop"
    WriteRegStr HKLM "${PROGRAMS}" DisplayVersion "${VERSION}"
    WriteRegStr HKLM "${PROGRAMS}" DisplayIcon "$INSTDIR\filedrop.exe"
    WriteRegStr HKLM "${PROGRAMS}" InstallLocation "$INSTDIR"
    WriteRegStr HKLM "${PROGRAMS}" UninstallString '"$INSTDIR\uninstall.exe"'
    WriteRegStr HKLM "${PROGRAMS}" QuietUninstallString '"$INSTDIR\uninstall.exe" /S'
    WriteRegDWORD HKLM "${PROGRAMS}" EstimatedSize ${SIZE}
    WriteRegDWORD HKLM "${PROGRAMS}" NoModify 1
    WriteRegDWORD HKLM "${PROGRAMS}" NoRepair 1
    !insertmacro installation "finish"
    SendMessage ${HWND_BROADCAST} ${WM_SETTINGCHANGE} 0 "STR:Environment" /TIMEOUT=5000
    ${If} $status == 2
        SetErrorLevel 2
        DetailPrint "filedrop is installed, but not started. The lines above say why."
    ${ElseIf} $status != 0
        !insertmacro failed "filedrop is installed, but its service can't be set up or started. install.log, next to the configuration, says why."
    ${EndIf}
SectionEnd

Section Uninstall
    !insertmacro halt "removed"
    !insertmacro installation "leave"
    ${If} $status != 0
        !insertmacro installation "resume"
        !insertmacro failed "filedrop's service can't be removed, so nothing was removed. Stop the service, and try again."
    ${EndIf}
    SendMessage ${HWND_BROADCAST} ${WM_SETTINGCHANGE} 0 "STR:Environment" /TIMEOUT=5000
    RMDir /r "$INSTDIR\Lib"
    RMDir /r "$INSTDIR\DLLs"
    !include "${FILES}" ; not *.*: whoever installed into a folder of theirs has more in it
    Delete "$INSTDIR\uninstall.exe"
    RMDir "$INSTDIR"
    DeleteRegKey HKLM "${PROGRAMS}"
    DetailPrint "The configuration, the state and all folders stay on this computer."
SectionEnd
