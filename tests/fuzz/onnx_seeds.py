#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/onnx_seeds.py FOLDER: writes small ONNX models, well formed and not, to the folder. tests/fuzz/corpus/onnx is what it wrote.
import struct
import sys

FLOAT, INT8, INT32, INT64, BOOL, UINT64 = 1, 3, 6, 7, 9, 13


def varint(n):
    n &= (1 << 64) - 1
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def blob(field, b):
    b = b.encode() if isinstance(b, str) else b
    return varint(field << 3 | 2) + varint(len(b)) + b


def each(field, items):
    return b''.join(blob(field, i) for i in items)


def value(name, element, dims):
    def dim(d):
        return number(1, d) if isinstance(d, int) else blob(2, d)
    shape = b'' if dims is None else blob(2, each(1, map(dim, dims)))
    return blob(1, name) + blob(2, blob(1, number(1, element) + shape))


def tensor(name, element, dims, raw=b''):
    return b''.join(number(1, d) for d in dims) + number(2, element) + blob(8, name) + blob(9, raw)


def integers(name, *values):
    return tensor(name, INT64, [len(values)], struct.pack('<%dq' % len(values), *values))


def attribute(name, x):
    if isinstance(x, int):
        return blob(1, name) + number(3, x) + number(20, 2)
    if isinstance(x, float):
        return blob(1, name) + varint(2 << 3 | 5) + struct.pack('<f', x) + number(20, 1)
    if isinstance(x, str):
        return blob(1, name) + blob(4, x) + number(20, 3)
    if isinstance(x, list):
        return blob(1, name) + blob(8, b''.join(map(varint, x))) + number(20, 7)
    kind, content = x
    how = {'tensor': lambda: blob(5, content) + number(20, 4), 'graph': lambda: blob(6, content) + number(20, 5),
           'ref': lambda: number(20, 2) + blob(21, content)}
    return blob(1, name) + how[kind]()


def node(op, ins, outs, name='', domain='', **attributes):
    return (each(1, ins.split(' ')) + each(2, outs.split(' ')) + blob(3, name) + blob(4, op) +
            each(5, (attribute(k, v) for k, v in attributes.items())) + blob(7, domain))


def graph(nodes, ins, outs, initializers=()):
    return each(1, nodes) + blob(2, 'g') + each(5, initializers) + each(11, ins) + each(12, outs)


def model(g, domains=(), functions=()):
    opsets = [blob(1, '') + number(2, 17)] + [blob(1, d) + number(2, 1) for d in domains]
    return number(1, 8) + blob(2, 'hand') + blob(7, g) + each(8, opsets) + each(25, functions)


def function(nodes, opsets):
    return (blob(1, 'Block') + blob(4, 'p') + blob(5, 'q') + blob(6, 'alpha') + each(7, nodes) +
            each(9, (blob(1, d) + number(2, v) for d, v in opsets)) + blob(10, 'mine'))


X, Y = value('x', FLOAT, ['n', 4]), value('y', FLOAT, None)
ZERO = b'\0' * 128


def mlp():
    return model(graph([node('MatMul', 'x w', 'h', 'mm'), node('Add', 'h b', 'a'), node('Relu', 'a', 'y')], [X], [Y],
                       [tensor('w', FLOAT, [4, 8], ZERO), tensor('b', FLOAT, [8], ZERO[:32])]))


def shapes():
    nodes = [node('Shape', 'x', 's'), node('Gather', 's zero', 'n0', axis=0), node('Concat', 'n0 rest', 't', axis=0),
             node('Reshape', 'x t', 'r'), node('Slice', 'r zero one zero', 'q'),
             node('Constant', '', 'c', value=('tensor', integers('', 2, -1))), node('Reshape', 'q c', 'y')]
    return model(graph(nodes, [X], [Y], [integers('zero', 0), integers('one', 1), integers('rest', 2, 2)]))


def control():
    u = value('u', FLOAT, None)
    sums = [value('c2', BOOL, []), value('acc2', FLOAT, ['n', 4])]
    body = graph([node('Add', 'acc x', 'acc2'), node('Identity', 'c', 'c2')],
                 [value('i', INT64, []), value('c', BOOL, []), value('acc', FLOAT, ['n', 4])], sums)
    nodes = [node('If', 't', 'z', then_branch=('graph', graph([node('Identity', 'x', 'u')], [], [u])),
                  else_branch=('graph', graph([node('Neg', 'x', 'u')], [], [u]))),
             node('Loop', 'k t z', 'y', body=('graph', body))]
    return model(graph(nodes, [X], [Y], [tensor('t', BOOL, [], b'\1'), tensor('k', INT64, [], b'\3' + ZERO[:7])]))


def functions():
    block = function([node('LeakyRelu', 'p', 'r', alpha=('ref', 'alpha')), node('Relu', 'r', 'q')], [('', 17)])
    calls = [node('Block', 'x', 'h', domain='mine', alpha=0.1), node('Block', 'h', 'y', domain='mine', alpha=0.2)]
    return model(graph(calls, [X], [Y]), ['mine'], [block])


def recursive():
    block = function([node('Block', 'p', 'q', domain='mine')], [('mine', 1)])
    return model(graph([node('Block', 'x', 'y', domain='mine')], [X], [Y]), ['mine'], [block])


def cyclic():
    return model(graph([node('Add', 'x y', 'a'), node('Relu', 'a', 'y')], [X], [Y]))


def dangling():
    return model(graph([node('Add', 'x nowhere', 'y')], [X], [Y, value('missing', FLOAT, [2])]))


def negative():
    return model(graph([node('Relu', 'x', 'y')], [value('x', FLOAT, [-4, 4])], [Y]))


def sequence():
    of = blob(1, number(1, FLOAT) + blob(2, each(1, [number(1, 3)])))
    return model(graph([node('SequenceAt', 'x i', 'y')], [blob(1, 'x') + blob(2, blob(4, blob(1, of)))], [Y],
                       [integers('i', 0)]))


def optional():
    of = blob(1, number(1, FLOAT) + blob(2, each(1, [number(1, 3)])))
    return model(graph([node('OptionalGetElement', 'x', 'y')], [blob(1, 'x') + blob(2, blob(9, blob(1, of)))], [Y]))


def huge():
    nodes = [node('Relu', 'x', 'y'), node('Tile', 'x r', 'z'), node('Expand', 'x e', 'q'),
             node('ConstantOfShape', 'e', 'v')]
    return model(graph(nodes, [value('x', FLOAT, [1 << 40, 1 << 40])],
                       [Y] + [value(name, FLOAT, None) for name in 'zqv'],
                       [integers('r', 1 << 40, 1 << 62), integers('e', 1 << 62, 1 << 62)]))


def twice():
    w = tensor('w', FLOAT, [4, 8], ZERO)
    return model(graph([node('Relu', 'x', 'y'), node('Neg', 'x', 'y')], [X, X], [Y, Y], [w, w]))


def conv():
    external = number(14, 1) + blob(13, blob(1, 'location') + blob(2, 'w.bin'))
    nodes = [node('Conv', 'x w', 'c', kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
             node('BatchNormalization', 'c s s s s', 'd', epsilon=1e-5),
             node('MaxPool', 'd', 'e', kernel_shape=[2, 2], ceil_mode=1, auto_pad='SAME_UPPER'),
             node('GlobalAveragePool', 'e', 'f'), node('Flatten', 'f', 'y', axis=1)]
    return model(graph(nodes, [value('x', FLOAT, ['n', 4, 9, 9])], [Y],
                       [tensor('w', FLOAT, [8, 4, 3, 3]) + external, tensor('s', FLOAT, [8], ZERO[:32])]))


def attention():
    nodes = [node('LayerNormalization', 'x g g', 'h', axis=-1),
             node('Attention', 'h qw qb mask', 'a', domain='com.microsoft', num_heads=2),
             node('SkipLayerNormalization', 'a x g g', 'k', domain='com.microsoft'),
             node('QuantizeLinear', 'k scale zero', 'i8', axis=2), node('DequantizeLinear', 'i8 scale zero', 'o', axis=2),
             node('Mystery', 'o', 'y')]
    weights = [tensor('g', FLOAT, [4], ZERO[:16]), tensor('qw', FLOAT, [4, 12]), tensor('qb', FLOAT, [12]),
               tensor('scale', FLOAT, [], b'\0\0\0\x3f'), tensor('zero', INT8, [], b'\0')]
    return model(graph(nodes, [value('x', FLOAT, ['n', 'm', 4]), value('mask', INT32, ['n', 'm'])],
                       [value('y', FLOAT, ['n', 'm', 4])], weights), ['com.microsoft'])


def wide_zero():
    nodes = [node('QuantizeLinear', 'x scale zero', 'i8', axis=2), node('DequantizeLinear', 'i8 scale zero', 'y', axis=2)]
    weights = [tensor('scale', FLOAT, [], b'\0\0\0\x3f'), tensor('zero', UINT64, [], b'\x2c')]
    return model(graph(nodes, [value('x', FLOAT, ['n', 'm', 4])], [value('y', FLOAT, ['n', 'm', 4])], weights))


def lstm():
    nodes = [node('LSTM', 'x w r  l', 'h last', hidden_size=8, direction='bidirectional'),
             node('Split', 'h', 'p q', axis=0), node('Resize', 'p  scales', 'y', mode='linear'),
             node('TopK', 'q k', 't i', axis=-1)]
    weights = [tensor('w', FLOAT, [2, 32, 4]), tensor('r', FLOAT, [2, 32, 8]),
               tensor('scales', FLOAT, [4], struct.pack('<4f', 1, 1, 2, 1)), integers('k', 3)]
    return model(graph(nodes, [value('x', FLOAT, ['m', 'n', 4]), value('l', INT32, ['n'])],
                       [Y, value('t', FLOAT, None)], weights))


def nested():
    g = b''
    for _ in range(80):
        g = graph([node('If', 'x', 'y', then_branch=('graph', g))], [], [])
    return model(g)


for make in (mlp, shapes, control, functions, recursive, cyclic, dangling, negative, huge, twice, conv, attention, lstm,
             nested, sequence, optional, wide_zero):
    with open('%s/%s' % (sys.argv[1], make.__name__), 'wb') as file:
        file.write(make())
