<?php
const NOTES = ['plain', '<script>alert("x")</script>', 'fish & chips', 'it\'s "quoted"', 'a < b > c'];
const TEXT = 'Packed by hand on the day it came in, checked twice, and sent with the early van. '
    . 'Leave it with a neighbor if nobody is at home, and ring the old bell before you go; '
    . 'the gate sticks in wet weather. Keep it dry and upright, and return the empty box.';

function rows(): array
{
    $row = fn (int $n) => ['number' => $n, 'name' => "Item $n", 'note' => NOTES[$n % 5], 'text' => TEXT];
    return array_map($row, range(1, 200));
}

function account(): array
{
    $item = fn (int $n) => ['id' => $n, 'name' => "Item $n", 'price' => $n + 0.25];
    return [
        'id' => 4711, 'name' => 'Ada Example', 'email' => 'ada@example.org', 'city' => 'Zürich',
        'active' => true, 'balance' => 1250.75, 'note' => null, 'created' => '2026-11-22T10:30:00Z',
        'items' => array_map($item, range(1, 10)),
    ];
}
