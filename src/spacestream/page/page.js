// A terminal of a sandbox. What is shown of executions is what the server says (spacestream(1), THE ENTRY OVER HTTP).
'use strict';

const INPUT = 0, STDOUT = 1, STDERR = 2, STATUS = 3, RESIZE = 4; // types of frames
const HEADER = 8;
const PIECE = 65536; // bytes of a frame's payload, at most
const $ = (id) => document.getElementById(id);
const encoder = new TextEncoder();

let socket = null, terminal = null;

function show(text, kind = '') {
	$('state').textContent = text;
	$('state').className = kind;
}

// Without xterm.js: what is written, without escape sequences, and keys as they are typed.
function plainTerminal(parent) {
	const pre = document.createElement('pre');
	const decoder = new TextDecoder();
	let typed = () => {};

	pre.tabIndex = 0;
	pre.addEventListener('keydown', (event) => {
		const keys = { Enter: '\r', Backspace: '\x7f', Tab: '\t', Escape: '\x1b', ArrowUp: '\x1b[A', ArrowDown: '\x1b[B',
			ArrowRight: '\x1b[C', ArrowLeft: '\x1b[D' };
		let text = keys[event.key] || (event.key.length === 1 ? event.key : '');
		if (event.ctrlKey && /^[a-z]$/.test(event.key)) text = String.fromCharCode(event.key.charCodeAt(0) & 31);
		else if (event.ctrlKey || event.metaKey) return;
		if (!text) return;
		event.preventDefault();
		typed(text);
	});
	pre.addEventListener('paste', (event) => typed(event.clipboardData.getData('text')));
	parent.append(pre);
	return {
		rows: 24,
		cols: 80,
		write(bytes) {
			const text = decoder.decode(bytes, { stream: true }).replace(/\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)/g, '');
			pre.textContent = (pre.textContent + text.replace(/\r/g, '')).slice(-200000);
			pre.scrollTop = pre.scrollHeight;
		},
		onData(take) { typed = take; },
		onResize() {},
		focus() { pre.focus(); },
		reset() { pre.textContent = ''; },
	};
}

function makeTerminal(parent) {
	if (!window.Terminal) return plainTerminal(parent);
	const made = new window.Terminal({ cursorBlink: true, scrollback: 5000 });
	made.open(parent);
	if (window.FitAddon) {
		const fit = new window.FitAddon.FitAddon();
		made.loadAddon(fit);
		fit.fit();
		new ResizeObserver(() => fit.fit()).observe(parent);
	}
	return made;
}

function frame(type, payload) {
	const bytes = new Uint8Array(HEADER + payload.length);
	bytes[0] = type;
	new DataView(bytes.buffer).setUint32(4, payload.length);
	bytes.set(payload, HEADER);
	return bytes;
}

function send(type, text) {
	const payload = encoder.encode(text);
	if (!socket || socket.readyState !== WebSocket.OPEN) return;
	for (let at = 0; at === 0 || at < payload.length; at += PIECE) socket.send(frame(type, payload.subarray(at, at + PIECE)));
}

const sendSize = () => send(RESIZE, JSON.stringify({ rows: terminal.rows, cols: terminal.cols }));

// One operation; what it results in, or an error that says why not.
async function operate(op, args) {
	const response = await fetch('/v1/ops', {
		method: 'POST',
		headers: { Authorization: 'Bearer ' + $('token').value, 'Content-Type': 'application/json' },
		body: JSON.stringify({ op, sandbox: $('sandbox').value, args }),
	});
	const record = await response.json();
	if (record.status !== 'ok')
		throw new Error([record.decision || record.error, record.reason, record.message].filter(Boolean).join(': '));
	return record.result;
}

// The token, as a browser can send it with a WebSocket.
function bearer() {
	const bytes = encoder.encode($('token').value);
	return 'bearer.' + btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

const named = (route) => `execution ${route.execution}, attempt ${route.attempt}`;

// What the server says of the stream itself.
function onEvent(record) {
	switch (record.event) {
	case 'open':
		show(`Connected to ${named(record.new)}.`);
		sendSize();
		break;
	case 'cut':
		show(`Cut from ${named(record.old)}: ${record.message || 'it was replaced'}. Waiting for a newer route.`, 'waiting');
		break;
	case 'replaced':
		show(`Connected to ${named(record.new)}; before that to ${named(record.old)}.`);
		sendSize();
		break;
	case 'gap':
		show(`${$('state').textContent} Some output was lost: ${record.missing === undefined ? 'more than is kept' : record.missing + ' bytes'}.`);
		break;
	}
}

function onFrame(bytes) {
	const payload = bytes.subarray(HEADER);
	if (bytes[0] === STDOUT || bytes[0] === STDERR) terminal.write(payload);
	else if (bytes[0] === STATUS) {
		const status = JSON.parse(new TextDecoder().decode(payload));
		show(status.exit !== undefined ? `Ended with ${status.exit}.` : `Ended: ${JSON.stringify(status)}.`);
	}
}

function attach(session) {
	const path = `/v1/sandboxes/${encodeURIComponent($('sandbox').value)}/sessions/${encodeURIComponent(session)}/attach`;
	const mine = new WebSocket(location.origin.replace(/^http/, 'ws') + path, ['space.v1', bearer()]);

	socket = mine;
	mine.binaryType = 'arraybuffer';
	mine.onmessage = (message) => {
		if (mine !== socket) return;
		if (typeof message.data === 'string') onEvent(JSON.parse(message.data));
		else onFrame(new Uint8Array(message.data));
	};
	mine.onclose = (event) => {
		if (mine !== socket) return;
		socket = null;
		if (event.code !== 1000) show(`Closed (${event.code})${event.reason ? ': ' + event.reason : ''}.`, 'wrong');
	};
}

async function open(event) {
	event.preventDefault();
	if (socket) socket.close(1000);
	socket = null;
	if (!terminal) {
		terminal = makeTerminal($('terminal'));
		terminal.onData((text) => send(INPUT, text));
		terminal.onResize(() => sendSize());
	}
	terminal.reset();
	show('Connecting …', 'waiting');
	try {
		const session = $('session').value ||
			(await operate('terminal.open', { rows: terminal.rows, cols: terminal.cols })).session;
		attach(session);
		terminal.focus();
	} catch (error) {
		show(error.message, 'wrong');
	}
}

async function list() {
	try {
		const { sessions } = await operate('exec.list', {});
		$('session').replaceChildren(new Option('a new terminal', ''),
			...sessions.map(({ session, program }) => new Option(`${session} (${program})`, session)));
		show(`${sessions.length} sessions.`);
	} catch (error) {
		show(error.message, 'wrong');
	}
}

$('ask').addEventListener('submit', open);
$('list').addEventListener('click', list);
if (!window.Terminal) show('Not connected. This server has no xterm.js, so terminals are shown as plain text.');
