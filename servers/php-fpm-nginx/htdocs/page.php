<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>Orders</title></head>
<body>
<h1>Orders</h1>
<table>
<tr><th>Number</th><th>Name</th><th>Note</th><th>Text</th></tr>
<?php foreach ($rows as $row): ?>
<tr><?php foreach ($row as $value): ?><td><?= htmlspecialchars($value) ?></td><?php endforeach ?></tr>
<?php endforeach ?>
</table>
</body>
</html>
